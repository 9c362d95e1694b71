"""Debezium's messages of the snapshot and the log, from which the rows of the server are read again."""

import json
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.messages.decoding import Decoder, Message
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget

pytestmark = pytest.mark.servers

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("yes", pa.bool_()),
        ("pay", pa.decimal128(10, 2)),
        ("made", pa.timestamp("us")),
        ("seen", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("photo", pa.binary()),
    ]
)
SCHEMA = TableSchema(table="shop.people", columns=COLUMNS, primary_key=("id",))


def messages(server: Any) -> list[dict[str, Any]]:
    """Create a table, read it, change it, and read the changes."""
    server.run(
        "CREATE TABLE people (id bigint PRIMARY KEY, yes tinyint(1), pay decimal(10,2), made datetime(3), "
        "seen timestamp(6) NULL, kind enum('a','b'), photo varbinary(9))",
        "SET time_zone = '+00:00'",
        "INSERT INTO people VALUES (1, 1, -129.05, '2026-11-28 22:30:01.007', '2026-11-28 22:30:01.5', 'b', x'00ff'), "
        "(2, 0, 1.00, NULL, NULL, NULL, NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    more = {"format": "COMPATIBLE_DEBEZIUM_JSON", "server-time-zone": "+05:00", "stop.mode": "latest"}
    source = DrivenSource({**cdc_options(server, "people"), **more, "debezium": {"topic.prefix": "s1"}})
    batches, _ = source.turn()
    server.run(
        "UPDATE people SET pay = 2 WHERE id <= 2",
        "UPDATE people SET id = 9 WHERE id = 2",
        "DELETE FROM people WHERE id = 3",
        "INSERT INTO people (id, kind) VALUES (4, 'a')",
    )
    batches += source.batches()
    return [row for batch in batches for row in batch.rows.to_pylist()]


def rows_of_server(server: Any) -> dict[Any, Any]:
    wanted = DrivenSource({**cdc_options(server, "people"), "stop.mode": "latest"})
    expected = StrictTarget({"shop.people": ("id",)})
    for batch in wanted.batches():
        expected.add(batch)
    return expected.rows["shop.people"]


def without_zone(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "seen": row["seen"] and row["seen"].replace(tzinfo=None)}


def test_messages_are_read_as_the_rows_of_the_server(server: Any) -> None:
    rows = messages(server)
    assert {row["topic"] for row in rows} == {"s1.shop.people"}
    values = [json.loads(row["value"])["payload"] for row in rows]
    assert [value["op"] for value in values] == ["r", "r", "r", "u", "u", "d", "c", "d", "c"]
    logged = [value["source"] for value in values[3:]]
    assert [each["row"] for each in logged] == [0, 1, 0, 0, 0, 0]
    assert all(each["file"] and each["table"] == "people" for each in logged)
    offsets = [each["pos"] for each in logged]
    assert offsets == sorted(offsets)
    assert min(offsets) > values[0]["source"]["pos"] > 0
    (read,) = Decoder(schema=SCHEMA, format="debezium_json", declared=True).batches(
        [Message("m", row["value"].encode()) for row in rows], Skipped()
    )
    target = StrictTarget({"shop.people": ("id",)})
    target.add(read)
    found = {key: without_zone(row) for key, row in target.rows["shop.people"].items()}
    assert found == rows_of_server(server)
