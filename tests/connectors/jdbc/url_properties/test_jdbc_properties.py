"""Properties in URLs of databases: each has an effect, changes nothing, or is answered with what to write instead."""

import sqlite3
from pathlib import Path

import pytest

from seatunnel_core.config.option import Options
from seatunnel_core.connectors.jdbc.databases.dialect import dialect_of
from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import UsageError

PG, LITE, DUCK, MY = "jdbc:postgresql://h/d", "jdbc:sqlite:/x.db", "jdbc:duckdb:/x.db", "jdbc:mysql://h/d"


def source(url: str) -> JdbcSource:
    return JdbcSource(Options({"url": url, "query": "SELECT 1"}, JdbcSource.declared))


@pytest.mark.parametrize(
    ("url", "answers"),
    [
        (f"{PG}?readOnly=true", ["options=-c default_transaction_read_only=on"]),
        (f"{PG}?sslfactory=org.postgresql.ssl.NonValidatingFactory", ["sslmode=require"]),
        (f"{PG}?defaultTransactionIsolation=x&aplicationName=y", ["-c default_transaction_iso", "ApplicationName?"]),
        (f"{PG}?work_mem=1", ["work_mem is unknown", "options=-c work_mem="]),
        (f"{PG}?targetServerType=boss&connectTimeout=soon", ["not one of any", "connectTimeout = soon"]),
        (f"{LITE}?date_class=INTEGER&foreign_keys=maybe", ["strftime", "foreign_keys = maybe is not one of"]),
        (f"{LITE}?locking_mode=EXCLUSIVE&forein_keys=on&busy_timeout=x", ["NORMAL", "foreign_keys?", "busy_timeout"]),
        (f"{DUCK}?TimeZone=Europe/Berlin&access_mode=READ_WRITE", ["timezone('Europe/Berlin'", "read-only"]),
        (f"{MY}?defaultTransactionIsolation=SERIALIZABLE", ["sessionVariables=transaction_isolation"]),
        (f"{MY}?connectTimeout=soon&colour=red", ["connectTimeout = soon", "sessionVariables=colour="]),
    ],
)
def test_a_property_that_would_change_something_is_answered(url: str, answers: list[str]) -> None:
    with pytest.raises(UsageError) as found:
        source(url)
    for answer in answers:
        assert answer in str(found.value)


@pytest.mark.parametrize(
    "url",
    [
        f"{PG}?reWriteBatchedInserts=true&stringtype=unspecified&readOnly=false&ApplicationName=x&sslmode=require",
        f"{PG}?currentSchema=a,b&socketTimeout=30&targetServerType=primary&prepareThreshold=0&serverTimezone=UTC",
        f"{LITE}?foreign_keys=on&journal_mode=WAL&date_class=TEXT&shared_cache=true",
        f"{DUCK}?threads=2&jdbc_stream_results=true&TimeZone=UTC",
        f"{MY}?defaultTransactionIsolation=READ_COMMITTED&rewriteBatchedStatements=true",
    ],
)
def test_properties_that_have_an_effect_or_change_nothing_are_accepted(url: str) -> None:
    assert source(url)


def test_properties_of_postgresql_are_those_of_libpq() -> None:
    url = f"{PG}?socketTimeout=30&targetServerType=secondary&ApplicationName=x&prepareThreshold=3&serverTimezone=UTC"
    dialect = source(url)._dialect
    assert isinstance(dialect, PostgreSQL)
    found = dialect.parameters()
    assert found["tcp_user_timeout"] == 30_000
    assert found["target_session_attrs"] == "standby"
    assert found["application_name"] == "x"
    assert not found.keys() & {"prepareThreshold", "serverTimezone", "socketTimeout", "targetServerType"}


def test_pragmas_of_sqlite_have_an_effect(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "x.db").close()
    made = source(f"jdbc:sqlite:{tmp_path}/x.db?foreign_keys=on&busy_timeout=1234")
    dialect = dialect_of(made._dialect.address, 1)
    with dialect.pool.lend() as connection:
        assert tuple(dialect.first_row(connection, "PRAGMA foreign_keys") or ()) == (1,)
        assert tuple(dialect.first_row(connection, "PRAGMA busy_timeout") or ()) == (1234,)
