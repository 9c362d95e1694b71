"""Committables: references to the staged output of a work unit for a sink."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored


@frozen(kw_only=True)
class Committable:
    """Reference to a work unit's staged output for one sink, sufficient to publish it now or in a later process."""

    id: str
    """ID, unique within its sink: source ordinal, epoch and unit number. Commits are recorded under it."""

    epoch: int
    """Epoch of the staging folder."""

    unit: int
    """Number of the work unit."""

    source: str
    """Name of the source vertex of the rows."""

    rows: int
    bytes: int
    body: Mapping[str, Any] = field(repr=False)
    """Data that the sink needs to publish it (for files: staged and target names). JSON values only."""

    table_rows: Mapping[str, int] = field(factory=dict)
    """Number of rows by table, for a sink that uses them in ``conclude``; otherwise empty."""

    tables: Mapping[str, str] = field(factory=dict)
    """Tables of the target that receive the rows, each with its identity, if any; empty for a sink without tables."""


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several counts by name."""
    total: dict[str, int] = {}
    for count in counts:
        for name, rows in count.items():
            total[name] = total.get(name, 0) + rows
    return total


def with_tables(tables: Mapping[str, str], published: Iterable[Committable]) -> Mapping[str, str]:
    """Return the tables to which rows were published, extended by those of further committables."""
    found = {name: identity for committable in published for name, identity in committable.tables.items()}
    return {**tables, **found} if found else tables


def committable_json(committable: Committable) -> dict[str, object]:
    """Return the committable as JSON, the form used in stored checkpoints and in reports of tasks."""
    return {
        **table_rows_json(committable.table_rows),
        **tables_json("tables", committable.tables),
        "id": committable.id,
        "epoch": committable.epoch,
        "unit": committable.unit,
        "source": committable.source,
        "rows": committable.rows,
        "bytes": committable.bytes,
        "body": dict(committable.body),
    }


def read_committable(committable: Mapping[str, object]) -> Committable:
    """Return the committable that ``committable_json`` wrote.

    Raises:
        StoredValueError: The value is not a committable.
    """
    return Committable(
        id=stored.text(committable, "id"),
        epoch=stored.number(committable, "epoch"),
        unit=stored.number(committable, "unit"),
        source=stored.text(committable, "source"),
        rows=stored.number(committable, "rows"),
        bytes=stored.number(committable, "bytes"),
        body=stored.below(committable, "body"),
        table_rows=read_table_rows(committable),
        tables=read_tables(committable, "tables"),
    )


def table_rows_json(table_rows: Mapping[str, int]) -> dict[str, object]:
    """Return the JSON entry ``table_rows``; empty for a sink that does not count rows by table.

    States of those sinks keep the bytes of versions without this entry.
    """
    return {"table_rows": dict(table_rows)} if table_rows else {}


def read_table_rows(block: Mapping[str, object]) -> dict[str, int]:
    """Return the row counts that ``table_rows_json`` wrote into the block."""
    if "table_rows" not in block:
        return {}
    counted = stored.below(block, "table_rows")
    return {table: stored.number(counted, table) for table in counted}


def tables_json(key: str, tables: Mapping[str, str]) -> dict[str, object]:
    """Return the JSON entry for tables and their identities; empty for a sink without tables."""
    return {key: dict(tables)} if tables else {}


def read_tables(block: Mapping[str, object], key: str) -> dict[str, str]:
    """Return the tables that ``tables_json`` wrote into the block."""
    if key not in block:
        return {}
    tables = stored.below(block, key)
    return {name: stored.text(tables, name) for name in tables}
