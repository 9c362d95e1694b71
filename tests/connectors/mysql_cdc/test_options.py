"""Options of the source, and settings of servers."""

from typing import Any

import pytest

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.mysql_cdc.chunk_places import divisible
from seatunnel_core.connectors.mysql_cdc.server import Marking, ServerState
from seatunnel_core.connectors.mysql_cdc.source import MariaDBCdcSource, MySQLCdcSource
from tests.connectors.mysql_cdc.tables import table

GIVEN = {
    "url": "jdbc:mysql://localhost:3306/shop",
    "username": "reader",
    "password": "s3cret",
    "table-names": ["shop.orders"],
}


def made(**more: Any) -> MySQLCdcSource:
    given = {**GIVEN, **{key.replace("__", ".").replace("_", "-"): value for key, value in more.items()}}
    return MySQLCdcSource(options_of(MySQLCdcSource, given))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"format": "COMPATIBLE_DEBEZIUM_JSON", "debezium": {"tombstones.on.delete": "x"}}, "expected true or false"),
        ({"startup__specific_offset__gtid_set": "a:1-5"}, "gtid-set.*not supported; write startup"),
        ({"startup__specific_offset__skip_events": 3}, "skip-events.*inside a transaction"),
        ({"startup__mode": "specific"}, "startup.specific-offset.file.*required for startup.mode = specific"),
        ({"startup__mode": "timestamp"}, "startup.timestamp.*required for startup.mode = timestamp"),
        ({"startup__timestamp": 5}, "startup.timestamp.*allowed only with startup.mode = timestamp"),
        ({"stop__mode": "timestamp"}, "stop.timestamp.*required for stop.mode = timestamp"),
        ({"stop__timestamp": 5}, "stop.timestamp.*allowed only with stop.mode = timestamp"),
        ({"stop__mode": "specific", "stop__specific_offset__file": "b.1"}, "stop.specific-offset.pos.*required"),
        ({"url": "jdbc:postgresql://localhost/shop"}, "url.*jdbc:mysql"),
        ({"database_pattern": "("}, "database-pattern.*not a regular expression"),
    ],
)
def test_values_that_are_not_supported_are_refused_by_name(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(**more)


def test_both_identifiers_take_the_same_options() -> None:
    assert MariaDBCdcSource.declared == MySQLCdcSource.declared
    MariaDBCdcSource(options_of(MariaDBCdcSource, {**GIVEN, "url": "jdbc:mariadb://localhost:3306/shop"}))


@pytest.mark.parametrize("name", ["serverTimezone", "connectionTimeZone", "timezone"])
def test_sessions_have_the_zone_in_which_the_log_is_read(name: str) -> None:
    source = made(properties={name: "Asia/Tokyo"}, server_time_zone="Europe/Berlin")
    zones = [each for each in source._server.dialect.session().statements if "time_zone" in each]
    assert zones == ["SET SESSION time_zone = 'Europe/Berlin'"]


def test_databases_are_chosen_by_name_or_pattern() -> None:
    assert made(database_pattern="sh.*")._databases.fullmatch("shop")
    assert not made(database_names=["a.b"])._databases.fullmatch("axb")


def state(version: str = "8.0.15", **settings: str) -> ServerState:
    found = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", **settings}
    return ServerState(version=version, settings=found)


def test_the_method_of_marks_depends_on_the_server() -> None:
    assert state("10.11.6-MariaDB-log").marking is Marking.SNAPSHOT
    assert state(gtid_mode="ON").marking is Marking.GTIDS
    assert state(gtid_mode="ON_PERMISSIVE").marking is Marking.LOCKS
    assert state().marking is Marking.LOCKS


def test_newer_servers_have_another_statement_for_the_end_of_the_log() -> None:
    assert state("8.4.0").position_statement == "SHOW BINARY LOG STATUS"
    assert state("8.1.0").position_statement == "SHOW MASTER STATUS"
    assert state("11.4.2-MariaDB").position_statement == "SHOW MASTER STATUS"
    assert state("5.7.22-log").is_5_7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log_bin": "OFF"}, "set log_bin"),
        ({"binlog_format": "STATEMENT"}, "SET GLOBAL binlog_format = 'ROW'"),
        ({"binlog_row_image": "MINIMAL"}, "SET GLOBAL binlog_row_image = 'FULL'"),
        ({"binlog_row_value_options": "PARTIAL_JSON"}, "SET GLOBAL binlog_row_value_options = ''"),
    ],
)
def test_settings_without_which_rows_are_incomplete_are_refused(settings: dict[str, str], message: str) -> None:
    assert message in str(state(**settings).problem())
    assert state().problem() is None


def test_tables_are_divided_only_by_values_that_have_a_place() -> None:
    found = table("m")
    assert divisible(found) is found
    assert divisible(table("m", "enum('a')")).split_column is None
