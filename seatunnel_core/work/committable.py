"""Committables: references to output that a work unit staged for a sink."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored_fields


@frozen(kw_only=True)
class Committable(stored_fields.Stored):
    """Reference to the output that a work unit staged for one sink, to publish it now or in a later process."""

    id: str
    """ID, unique within its sink: source ordinal, epoch and unit number. Commits are recorded by this ID."""

    epoch: int
    """Epoch of the staging folder."""

    unit: int

    source: str
    """Name of the source vertex of the rows."""

    rows: int
    bytes: int
    body: Mapping[str, Any] = field(repr=False)
    """Data that the sink needs to publish the output (for files: staged and target names). JSON values only."""

    table_rows: Mapping[str, int] = stored_fields.added(factory=dict, omitted=True)
    """Number of rows by table, if the sink uses them in ``conclude``; otherwise empty."""

    tables: Mapping[str, str] = stored_fields.added(factory=dict, omitted=True)
    """Tables of the target that receive the rows, each with its identity, if any; empty for a sink without tables."""


def added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum of the counts for each name."""
    total: dict[str, int] = {}
    for count in counts:
        for name, rows in count.items():
            total[name] = total.get(name, 0) + rows
    return total


def with_tables(tables: Mapping[str, str], published: Iterable[Committable]) -> Mapping[str, str]:
    """Return the tables with published rows, including those of the given committables."""
    found = {name: identity for committable in published for name, identity in committable.tables.items()}
    return {**tables, **found} if found else tables


@frozen(kw_only=True)
class Staged:
    """Result of a finished writer."""

    body: Mapping[str, Any]
    """Data for ``commit``: JSON values only."""

    rows: int
    bytes: int
    table_rows: Mapping[str, int] = field(factory=dict)
    """Number of rows by table, if the sink uses them in ``conclude``; otherwise empty."""

    tables: Mapping[str, str] = field(factory=dict)
    """Tables of the target that receive the rows, each with its identity, such as a UUID, or ``""`` if the database has
    none. The engine passes them to later calls in ``SinkContext.published_to``. Empty for a sink without tables."""

    shown: tuple[str, ...] = ()
    """Values passed to ``Sink.show`` as soon as the unit has ended; never part of a checkpoint."""
