"""Rows as the text of statements for MySQL, and what the protocol says of columns: what does not need a server."""

import ssl
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from attrs import frozen

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import dialect_of
from seatunnel_core.connectors.jdbc.databases.mysql_session import session_of
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of, described, fixed_zone, rows_as_sql
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (pa.bool_(), True, b"1"),
        (pa.int64(), -7, b"-7"),
        (pa.float64(), 0.1, b"'0.1'"),
        (pa.decimal128(5, 2), Decimal("-1.50"), b"'-1.50'"),
        (pa.string(), 'it\'s \\ "näme"', "'it''s \\\\ \"näme\"'".encode()),
        (pa.binary(), b"\x00'", b"x'0027'"),
        (pa.binary(), b"", b"x''"),
        (pa.string(), None, b"NULL"),
        (pa.binary(), None, b"NULL"),
        (pa.bool_(), None, b"NULL"),
    ],
)
def test_a_value_is_written_so_that_no_server_takes_it_for_another(kind: Any, value: Any, written: bytes) -> None:
    rows = pa.RecordBatch.from_arrays([pa.array([value], kind), pa.array([1])], names=["a", "b"])
    assert rows_as_sql(rows).to_pylist() == [b"(" + written + b",1)"]


@frozen
class _Field:
    type_code: int
    length: int = 0
    scale: int = 0
    flags: int = 0
    charsetnr: int = 45


@pytest.mark.parametrize(
    ("field", "declared"),
    [
        (_Field(3, length=11), "int"),
        (_Field(8, length=20, flags=32), "bigint unsigned"),
        (_Field(1, length=1), "tinyint(1)"),
        (_Field(246, length=17, scale=2), "decimal(15,2)"),
        (_Field(246, length=15, flags=32), "decimal(15,0) unsigned"),
        (_Field(16, length=11), "bit(11)"),
        (_Field(252, charsetnr=63), "blob"),
        (_Field(252), "text"),
        (_Field(254, flags=256), "enum"),
        (_Field(5, length=22, flags=32), "double"),
    ],
)
def test_a_column_of_a_query_is_as_one_that_is_declared(field: _Field, declared: str) -> None:
    assert described(field) == declared
    assert column_of("c", declared).arrow is not None


@pytest.mark.parametrize(
    ("session", "system", "zone"),
    [
        ("UTC", "CET", "UTC"),
        ("+05:30", "UTC", "+05:30"),
        ("SYSTEM", "UTC", "UTC"),
        ("SYSTEM", "GMT", ""),
        ("SYSTEM", "CET", ""),
        ("Europe/Berlin", "UTC", ""),
    ],
)
def test_a_zone_with_summer_time_is_not_fixed(session: str, system: str, zone: str) -> None:
    assert fixed_zone(session, system) == zone


def _session(**properties: str) -> Any:
    options = {"url": "jdbc:mysql://h/shop?serverTimezone=GMT%2B8", "query": "SELECT 1", "properties": properties}
    address = address_of(options_of(JdbcSource, options))
    return session_of(address, dialect_of(address, 2).literal)


def test_properties_of_java_become_those_of_a_session() -> None:
    found = _session(connectTimeout="2500", socketTimeout="60000", sessionVariables="a=1;b=2", useUnicode="true")
    assert found.parameters["connect_timeout"] == 2
    assert found.parameters["read_timeout"] == 60
    assert "SET SESSION time_zone = '+08:00'" in found.statements
    assert "SET SESSION a=1,b=2" in found.statements
    assert _session(zeroDateTimeBehavior="convertToNull").zero_is_null
    assert _session(tinyInt1isBit="true", rewriteBatchedStatements="true", jdbcCompliantTruncation="TRUE")
    assert _session(sslMode="trust").parameters["ssl"].verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"zeroDateTimeBehavior": "ROUND"}, "write EXCEPTION or CONVERT_TO_NULL"),
        ({"sslMode": "SOMETIMES"}, "expected DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY"),
        (
            {"tinyInt1isBit": "false"},
            "tinyInt1isBit = false is not supported: set .* int_type_narrowing = false",
        ),
        ({"useSSl": "true"}, "useSSl is unknown for MySQL. Did you mean useSSL"),
        ({"colour": "red"}, "colour is unknown for MySQL. To set a server variable, use sessionVariables=colour="),
        (
            {"colour": "red", "trustStore": "/t", "useSSL": "true"},
            "colour is .*; trustStore is not supported: .*PEM",
        ),
    ],
)
def test_a_property_that_does_nothing_here_is_refused(properties: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _session(**properties)
