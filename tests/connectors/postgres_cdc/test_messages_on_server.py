"""Debezium's messages from the snapshot and the log of PostgreSQL."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext, PollCursor
from seatunnel_core.connectors.change_data.messages import TABLE
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.postgres_cdc.options import SOURCE_OPTIONS
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from tests.cdc.captured import CapturedPostgres
from tests.cdc.storm import wait_until
from tests.connectors.mysql_cdc.driven import Reports

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
DATABASE = "cdc_messages"
PLANNING = PlanningContext(parallelism=1)
WAIT_S = 60


@pytest.fixture
def captured() -> Iterator[CapturedPostgres]:
    made = CapturedPostgres()
    made.release(DATABASE)
    made.recreate(DATABASE)
    made.run(
        DATABASE,
        "CREATE TABLE people (id bigint PRIMARY KEY, pay numeric, seen timestamptz(0), name text NOT NULL)",
        "INSERT INTO people VALUES (1, 1.50, '2026-11-28 22:30:01+00', 'Ada'), (2, NULL, NULL, 'Bob')",
    )
    yield made
    forget()
    made.release(DATABASE)
    made.run("postgres", f"DROP DATABASE {DATABASE} WITH (FORCE)")


@define
class Driven:
    """The source, and what an engine keeps of it."""

    source: PostgresCdcSource
    cursor: PollCursor = field(factory=dict)
    rows: list[dict[str, Any]] = field(factory=list)

    def turn(self, count: int) -> bool:
        """Poll once, and read everything; return True if there are as many messages."""
        found = self.source.poll(self.cursor, PLANNING)
        self.cursor = found.cursor
        for split in self.source.enumerate(found.items, PLANNING).splits if found.items else ():
            reports = Reports()
            for batch in self.source.read(split, reports):
                self.rows.extend(batch.rows.to_pylist())
            self.cursor = self.source.absorb(self.cursor, reports.facts)
        return len(self.rows) >= count


def source_of(captured: CapturedPostgres) -> PostgresCdcSource:
    server = captured.server.options(DATABASE)
    given = {
        "url": server["url"], "username": server["user"], "password": server["password"],
        "table-names": ("public.people",), "slot.name": DATABASE, "format": "COMPATIBLE_DEBEZIUM_JSON",
        "debezium": {"value.converter.schemas.enable": "false", "key.converter.schemas.enable": "false"},
    }  # fmt: skip
    return PostgresCdcSource(Options(given, SOURCE_OPTIONS))


def test_messages_have_the_positions_of_the_log(captured: CapturedPostgres) -> None:
    driven = Driven(source_of(captured))
    assert driven.source.planned_schemas() == (TABLE,)
    driven.source.open(restored=False)
    wait_until(lambda: driven.turn(2), WAIT_S, "the snapshot")
    update = "UPDATE people SET name = 'Eve' WHERE id = 1 RETURNING pg_current_xact_id()::text"
    ((xid,),) = captured.run(DATABASE, update)
    captured.run(DATABASE, "UPDATE people SET id = 3 WHERE id = 2", "DELETE FROM people WHERE id = 1")
    wait_until(lambda: driven.turn(6), WAIT_S, "the changes")
    driven.source.close()
    rows = driven.rows
    assert {row["topic"] for row in rows} == {"postgres_cdc_source.public.people"}
    assert [row["key"] for row in rows] == [f'{{"id":{number}}}' for number in (1, 2, 1, 2, 3, 1)]
    values = [json.loads(row["value"]) for row in rows]
    assert [value["op"] for value in values] == ["r", "r", "u", "d", "c", "d"]
    seen = {"id": 1, "pay": {"scale": 1, "value": "Dw=="}, "seen": "2026-11-28T22:30:01Z"}
    assert values[0]["after"] == {**seen, "name": "Ada"}
    assert (values[2]["before"], values[2]["after"]) == (None, {**seen, "name": "Eve"})
    assert values[5]["before"] == {"id": 1, "pay": None, "seen": None, "name": None}
    blocks = [value["source"] for value in values[2:]]
    assert blocks[0]["txId"] == int(xid)
    positions = [each["lsn"] for each in blocks]
    assert positions == sorted(positions)
    assert positions[1] == positions[2]
    assert all(each["db"] == DATABASE and each["schema"] == "public" and each["ts_ms"] > 0 for each in blocks)
