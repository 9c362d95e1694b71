"""What does not pass by itself is not retried: a wrong password, a missing right. A full disk is."""

import errno
import ftplib
import sqlite3

import psycopg
import pymysql
import pytest
from requests.exceptions import ProxyError
from sqlalchemy.exc import OperationalError

from seatunnel_core.connectors.filesystems.fsspec.connection import os_errors
from seatunnel_core.connectors.http.client import Client
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.failures import ErrorsExplained
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.connectors.iceberg.catalog import may_pass
from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.databases.sqlite import SQLite
from seatunnel_core.errors import SinkError

PLAIN = Connection(
    retries=0,
    backoff_ms=1,
    backoff_max_ms=1,
    connect_timeout_ms=1,
    socket_timeout_ms=1,
    ca_file=None,
    certificate=(),
    hidden=(),
    credentials="headers",
)
CONNECTION = 'connection failed: connection to server at "db", port 5432 failed: '


def address(kind: str) -> Address:
    return Address(kind=kind, host="db", database="x", user=None, password=None, properties=(), timeout_s=1)


class DiskFull(psycopg.OperationalError):
    sqlstate = "53100"


class TooManyConnections(psycopg.OperationalError):
    sqlstate = "53300"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (psycopg.OperationalError(f'{CONNECTION}FATAL:  password authentication failed for user "x"'), False),
        (psycopg.OperationalError(f'{CONNECTION}FATAL:  database "x" does not exist'), False),
        (psycopg.OperationalError(f"{CONNECTION}fe_sendauth: no password supplied"), False),
        (psycopg.OperationalError(f"{CONNECTION}Connection refused"), True),
        (psycopg.OperationalError(f"{CONNECTION}FATAL:  the database system is starting up"), True),
        (DiskFull("could not write to file"), True),
        (TooManyConnections("sorry, too many clients already"), True),
    ],
)
def test_postgresql(error: psycopg.Error, passes: bool) -> None:
    """A wrong password was told four times: at the start of a connection libpq gives no SQLSTATE."""
    dialect = PostgreSQL(address("postgresql"), 1)
    assert dialect.may_pass(error) is passes


def test_mysql_and_sqlite() -> None:
    mysql = MySQL(address("mysql"), 1)
    for code, passes in ((1045, False), (1021, True), (1114, True), (1142, False), (1205, True), (2003, True)):
        assert mysql.may_pass(pymysql.err.OperationalError(code, "said")) is passes
    assert mysql.may_pass(pymysql.err.OperationalError(3, "Error writing file './x.ibd' (Errcode: 28 'No space left')"))
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    sqlite = SQLite(address("sqlite"), 1)
    assert sqlite.may_pass(full)
    assert not sqlite.may_pass(sqlite3.OperationalError("attempt to write a readonly database"))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError("When reading information for key 'x': AWS Error ACCESS_DENIED during HeadObject operation"), False),
        (OSError("AWS Error UNKNOWN (HTTP status 403) during PutObject operation: No response body."), False),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError("AWS Error SLOW_DOWN during PutObject operation"), True),
        (OperationalError("insert", {}, Exception("FATAL: password authentication failed")), False),
        (OperationalError("insert", {}, Exception("database or disk is full")), True),
        (OperationalError("insert", {}, Exception("database is locked")), True),
    ],
)
def test_iceberg(error: Exception, passes: bool) -> None:
    assert may_pass(error) is passes


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (ftplib.error_perm("550 /x: Permission denied"), errno.EACCES),
        (ftplib.error_perm("530 Login incorrect"), errno.EACCES),
        (ftplib.error_perm("552 Disk full - please upload later"), errno.ENOSPC),
        (ftplib.error_temp("452 Insufficient storage space"), errno.ENOSPC),
        (ftplib.error_temp("421 Service not available"), errno.EIO),
    ],
)
def test_ftp(error: Exception, number: int) -> None:
    with pytest.raises(OSError, match="/x") as caught, os_errors("/x"):
        raise error
    assert caught.value.errno == number


@pytest.mark.parametrize(("status", "passes"), [(507, True), (501, False), (401, False), (503, True), (500, True)])
def test_http(status: int, passes: bool) -> None:
    found = Client(PLAIN, SinkError).refused(Request(method="GET", url="https://a.example/x"), status, "said", "")
    assert found.retryable is passes


def test_a_proxy_that_wants_a_password() -> None:
    explained = ErrorsExplained(Request(method="GET", url="https://a.example/x"), PLAIN, SinkError)
    with pytest.raises(SinkError, match=r"the proxy .* requires a different user and password") as caught, explained:
        raise ProxyError("Tunnel connection failed: 407 Proxy Authentication Required")
    assert not caught.value.retryable
