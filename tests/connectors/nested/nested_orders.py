"""Orders with lines and tags as sources with nesting = tables give them, and tables of them as sinks leave them."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import finished, place, sink_place
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.nesting import ROW_ID, Nesting, row_id
from seatunnel_core.work.committable import Committable

TABLES = Nesting(kind="tables")
MERGE: dict[str, Any] = {
    "table": "${table_name}",
    "write_mode": "merge",
    "merge_key": "id",
    "schema_contract": "evolve",
}


def nested(run: str, rows: list[dict[str, Any]]) -> tuple[tuple[TableSchema, ...], list[Batch]]:
    """The tables and rows that a source with nesting = tables makes of JSON objects."""
    shape = Shape()
    shape.see(rows)
    columns = TABLES.identified(shape.columns())
    given = [{ROW_ID: row_id(run, number, row), **row} for number, row in enumerate(rows)]
    found = pa.RecordBatch.from_pylist(given, schema=columns)
    schema = TableSchema(table="orders", columns=columns)
    return TABLES.schemas(schema), list(TABLES.batches(Batch(table="orders", rows=found)))


def staged(sink: Sink, run: str, rows: list[dict[str, Any]], unit: int = 1) -> Committable:
    schemas, batches = nested(f"{run}/{unit}", rows)
    here = place(job_id=run, unit=unit)
    sink.create_tables(schemas, sink_place(here))
    writer = sink.open_writer(schemas, here)
    for batch in batches:
        writer.write(batch)
    return finished(writer, here)


def state(ask: Callable[[str], Sequence[Any]]) -> list[Any]:
    """Each order with its lines and their tags, as the tables have them; children without a parent at the end."""
    orders = ask("SELECT id, _row_id FROM orders ORDER BY id")
    lines = ask("SELECT _parent_id, _list_index, sku, _row_id FROM orders__lines ORDER BY 1, 2")
    tags = ask("SELECT _parent_id, _list_index, value FROM orders__lines__tags ORDER BY 1, 2")
    found: list[Any] = [
        (number, [(sku, [tag for of, _, tag in tags if of == line]) for of, _, sku, line in lines if of == own])
        for number, own in orders
    ]
    owners, parents = {own for _, own in orders}, {line for *_, line in lines}
    found += [each for each in lines if each[0] not in owners] + [each for each in tags if each[0] not in parents]
    return found


def order(number: int, *skus: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "lines": [{"sku": sku, "tags": [f"{sku}1", f"{sku}2"]} for sku in skus], **more}


def lines(*skus: str) -> list[Any]:
    return [(sku, [f"{sku}1", f"{sku}2"]) for sku in skus]
