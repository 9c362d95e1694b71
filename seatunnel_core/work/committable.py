"""A committable: what one work unit staged for one sink, and what the sink needs to publish it."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored


@frozen(kw_only=True)
class Committable:
    """What one work unit staged for one sink: enough to publish it, in this process or in a later one."""

    id: str
    """Unique within its sink: source ordinal, epoch and unit number. Commits are recorded by it."""

    epoch: int
    """The epoch in whose staging folder the staged thing lies."""

    unit: int
    """The number of the work unit."""

    source: str
    """The name of the source vertex that the rows come from."""

    rows: int
    bytes: int
    body: Mapping[str, Any] = field(repr=False)
    """What the sink needs to publish it (for files: staged and target names). JSON values only."""

    table_rows: Mapping[str, int] = field(factory=dict)
    """How many of the rows each table has, for a sink that wants to know in the end; else empty."""

    tables: Mapping[str, str] = field(factory=dict)
    """The tables of the target that the rows go to, each with its identity, if it has one; empty for a sink that has
    no tables."""


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of several counts, for each name that stands in any of them."""
    total: dict[str, int] = {}
    for count in counts:
        for name, rows in count.items():
            total[name] = total.get(name, 0) + rows
    return total


def with_tables(tables: Mapping[str, str], published: Iterable[Committable]) -> Mapping[str, str]:
    """Return the tables to which rows were published, and those of further committables."""
    found = {name: identity for committable in published for name, identity in committable.tables.items()}
    return {**tables, **found} if found else tables


def committable_json(committable: Committable) -> dict[str, object]:
    """Return the committable as JSON, as a stored checkpoint has it and as a task reports it."""
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
        StoredValueError: it is not one.
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
    """Return the JSON entry ``table_rows``, or nothing for a sink that does not count the rows of each table.

    States of those sinks keep the bytes that they had before there was such an entry.
    """
    return {"table_rows": dict(table_rows)} if table_rows else {}


def read_table_rows(block: Mapping[str, object]) -> dict[str, int]:
    """Return what ``table_rows_json`` wrote into the block."""
    if "table_rows" not in block:
        return {}
    counted = stored.below(block, "table_rows")
    return {table: stored.number(counted, table) for table in counted}


def tables_json(key: str, tables: Mapping[str, str]) -> dict[str, object]:
    """Return the JSON entry for tables and their identities, or nothing for a sink that has no tables."""
    return {key: dict(tables)} if tables else {}


def read_tables(block: Mapping[str, object], key: str) -> dict[str, str]:
    """Return what ``tables_json`` wrote into the block."""
    if key not in block:
        return {}
    tables = stored.below(block, key)
    return {name: stored.text(tables, name) for name in tables}
