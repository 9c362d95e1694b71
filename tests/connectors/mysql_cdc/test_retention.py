"""The time for which a server keeps its log, according to its settings."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seatunnel_core.connectors.mysql_cdc.retention import Retention
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource

SECONDS, DAYS = "binlog_expire_logs_seconds", "expire_logs_days"


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({}, "without a limit"),
        ({DAYS: "0"}, "without a limit"),
        ({SECONDS: "2592000", DAYS: "0"}, "for 30 days"),
        ({SECONDS: "0", DAYS: "1"}, "for 1 day"),
        ({SECONDS: "129600", DAYS: "1.500000"}, "for 1.5 days"),
        ({SECONDS: "3600", "binlog_expire_logs_auto_purge": "OFF"}, "without a limit"),
        ({SECONDS: "0", "max_binlog_total_size": "4096"}, "up to a size of 4,096 bytes (max_binlog_total_size)"),
    ],
)
def test_long_times_are_reported_without_a_warning(settings: dict[str, str], note: str) -> None:
    found = Retention.of(settings)
    assert found.note() == f"the server keeps its log {note}"
    assert found.warning() is None


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({DAYS: "0.500000"}, "SET GLOBAL expire_logs_days = 7"),
        ({SECONDS: "43200", DAYS: "0"}, "SET GLOBAL binlog_expire_logs_seconds = 604800"),
    ],
)
def test_short_times_are_warnings(settings: dict[str, str], remedy: str) -> None:
    warning = str(Retention.of(settings).warning())
    assert warning.startswith("the server keeps its log for only 12 h 0 min, so a job")
    assert remedy in warning


@contextmanager
def changed(server: Any, name: str, value: str) -> Iterator[None]:
    ((_, before),) = server.run(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
    try:
        server.run(f"SET GLOBAL {name} = {value}")
        yield
    finally:
        server.run(f"SET GLOBAL {name} = {before}")


@pytest.mark.servers
@pytest.mark.timeout(180)
def test_a_server_says_how_long_it_keeps_its_log(server: Any) -> None:
    """The statement of the warning is run: with it, there is no warning."""
    server.run("CREATE TABLE t (id int PRIMARY KEY)")

    def notes() -> list[str]:
        source = DrivenSource(cdc_options(server, "t")).source
        return [each for each in source.planned_reading() if each.startswith("the server keeps its log")]

    names = [name for name, _ in server.run(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{SECONDS}', '{DAYS}')")]
    name = SECONDS if SECONDS in names else DAYS
    with changed(server, name, "0"):
        assert notes() == ["the server keeps its log without a limit"]
        server.run(f"SET GLOBAL {name} = {86_400 if name == SECONDS else 1}")
        assert notes() == ["the server keeps its log for 1 day"]
        if name == SECONDS:
            server.run(f"SET GLOBAL {name} = 3600")
            (warning,) = notes()
            statement = re.search(r"Run (SET GLOBAL \w+ = \d+)", warning)
            assert statement is not None
            server.run(statement[1])
            assert notes() == ["the server keeps its log for 7 days"]
