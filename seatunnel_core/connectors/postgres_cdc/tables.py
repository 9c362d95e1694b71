"""Captured tables of a server, and the problems that prevent their capture."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.captured_table import captured_table
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.change_data.options import CONFIGURED_KEY, CONFIGURED_TABLE
from seatunnel_core.connectors.change_data.table_choice import named
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.postgres_cdc.catalog_tables import catalog_tables
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.publications import Publication, TableName
from seatunnel_core.connectors.postgres_log.sql_connection import run
from seatunnel_core.connectors.tables.table_path import TablePath

_LOGS_GENERATED = 18_00_00
"""First PostgreSQL version that can publish generated columns. It lists them only if they are published."""

_TABLES = """
SELECT n.nspname::text, c.relname::text FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
   AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'
 ORDER BY 1, 2
"""


@frozen(kw_only=True)
class Captured:
    """A captured table with its masks and its row filter."""

    path: TableName
    found: Found
    oid: int = 0
    """Object ID of the table when it was described; 0 if it is unknown."""

    masks: Mapping[str, str] = field(factory=dict)
    """Columns of each mask, keyed by the mask's name; the row filter has an empty name."""

    former_masks: Mapping[str, str] = field(factory=dict)
    """Masks by column name, for states of earlier versions; the row filter has an empty name."""

    filtered: tuple[str, ...] = ()
    """Columns that the row filter needs."""

    numbers: Mapping[int, str] = field(factory=dict, repr=False)
    """Current names of all columns by number, in the order of the numbers."""

    protected: Mapping[int, str] = field(factory=dict, repr=False)
    """Masked and unselected columns in ``numbers``."""

    has_own_key: bool = True
    """True if the key is the primary key of the table; False if it is configured."""

    is_readable: bool = True
    """False if these are the columns in the log, which differ from the current columns of the table."""

    @cached_property
    def name(self) -> str:
        """Path of the table in emitted rows."""
        return self.found.reading.name

    @cached_property
    def shape(self) -> str:
        """Fingerprint of the columns and the key, and optionally, after a hyphen, of the masks and the filter."""
        return f"{self.columns}-{_masks_of(self.masks)}" if self.masks else self.columns

    @cached_property
    def columns(self) -> str:
        """Short fingerprint of the columns and the key."""
        schema = self.found.schema()
        return _digest(f"{[(field.name, str(field.type)) for field in schema.columns]} {schema.primary_key}")

    def as_logged(self, logged: LogTable, rules: ColumnRules) -> "Captured":
        """Return the table with its logged columns. If they differ from the current ones, only changes can be read."""
        columns = tuple(
            Column(name=each.name, declared=each.declared, arrow=each.arrow) for each in logged.columns if each.selected
        )
        found = evolve(self.found, columns=columns)
        if (row_filter := rules.row_filter(found)) is not None:
            row_filter.require_valid(found)
        masks, former = rules.recorded(found), rules.recorded_by_column(found)
        made = evolve(self, found=found, masks=masks, former_masks=former, is_readable=False)
        return self if made.columns == self.columns else made

    def has_masks(self, shape: str) -> bool:
        """Return True if a fingerprint, possibly recorded by an earlier version, has the same masks and filter."""
        masks = shape.partition("-")[2]
        return masks in (_masks_of(self.masks), _masks_of(self.former_masks))

    def has_shape(self, shape: str) -> bool:
        """Return True if a fingerprint, possibly recorded by an earlier version, matches the table."""
        return self.columns == shape.partition("-")[0] and self.has_masks(shape)


def _masks_of(masks: Mapping[str, str]) -> str:
    return _digest(str(sorted(masks.items()))) if masks else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def chosen_tables(connection: Any, settings: Settings) -> list[TableName]:
    """Return the tables that the job captures, sorted.

    Raises:
        SourceError: A table does not exist.
    """
    listed = _listed(connection, settings)
    return [(schema, table) for _, schema, table in settings.choice.chosen(listed)]


def _listed(connection: Any, settings: Settings) -> list[TablePath]:
    return [
        (settings.address.database, schema, table)
        for schema, table in run(connection, _TABLES)
        if not settings.schemas or schema in settings.schemas
    ]


def captured_tables(
    dialect: Dialect,
    connection: Any,
    settings: Settings,
    tables: Sequence[TableName],
    published: Publication | None,
    rules: ColumnRules,
) -> tuple[Captured, ...]:
    """Return the tables with their columns and keys.

    Raises:
        SourceError: A table has no key, or cannot be read.
    """
    listed = _listed(connection, settings)
    configured = {named(entry[CONFIGURED_TABLE], listed)[1:]: entry for entry in settings.configured}
    logs_generated = connection.info.server_version >= _LOGS_GENERATED
    known = catalog_tables(connection, tables)  # first: a table that is replaced from now on is detected
    return tuple(
        Captured(
            path=table,
            found=found,
            oid=known[table].oid,
            masks=rules.recorded(found),
            former_masks=rules.recorded_by_column(found),
            filtered=() if (row_filter := rules.row_filter(found)) is None else row_filter.columns,
            numbers=numbers,
            protected={number: name for number, name in numbers.items() if rules.protection(table, name)},
            has_own_key=table not in configured or not configured[table][CONFIGURED_KEY],
        )
        for table, each in _found(dialect, settings, tables, published, configured, rules)
        for found in [each if logs_generated else _without_generated(each)]
        for numbers in [known[table].numbers]
    )


def _without_generated(found: Found) -> Found:
    """Remove generated columns that a publication lists but the log does not contain."""
    return evolve(found, columns=tuple(column for column in found.columns if not column.generated))


def _found(
    dialect: Dialect,
    settings: Settings,
    tables: Sequence[TableName],
    published: Publication | None,
    configured: dict[TablePath, Options],
    rules: ColumnRules,
) -> Iterator[tuple[TableName, Found]]:
    with dialect.pool.lend() as connection:
        for table in tables:
            known = None if published is None else published.tables.get(table)
            found = captured_table(
                dialect,
                connection,
                table,
                settings.jdbc,
                configured=configured.get(table),
                columns=None if known is None else known.columns,
                rules=rules,
                without_key=settings.without_key,
            )
            if known is not None and known.row_filter:
                both = f"({found.reading.where}) AND ({known.row_filter})" if found.reading.where else known.row_filter
                found = evolve(found, reading=evolve(found.reading, where=both))
            yield table, found


def in_order(tables: Sequence[Captured], names: Iterable[str]) -> tuple[Captured, ...]:
    """Return the tables with the given names, in the order of the names.

    Raises:
        SourceChangedError: A table no longer exists.
    """
    by_name = {table.name: table for table in tables}
    found = []
    for name in names:
        if name not in by_name:
            raise SourceChangedError(
                f"the table {name} was captured when the job started, but can no longer be found; restore it, or "
                "start a new job"
            )
        found.append(by_name[name])
    return tuple(found)


def require_same_columns(table: Captured, shape: str) -> None:
    """Raise SourceChangedError unless a table has the columns, key and masks with which a chunk was planned."""
    if not table.has_shape(shape):
        now = ", ".join(f"{each.name} {each.type}" for each in table.found.schema().columns)
        raise SourceChangedError(
            f"the columns, masks or filter of {table.name} have changed since the job started; now they are {now}. "
            "Start a new job"
        )
