"""Transforms for certain tables, or with options for each table: ``table_match_regex`` and ``table_transform``.

Transforms do not handle these options themselves: ``PerTable`` passes each transform its tables.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from attrs import evolve

from seatunnel_core.config.job_file import Kind
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import ENTRIES, STRING, Option, Options
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.findings import Findings
from seatunnel_core.job.node import COMMON, RULE_MATCH, TABLE_MATCH, TABLE_TRANSFORM
from seatunnel_core.rows.columns import require_arrived

TABLE_PATH = Option(
    "table_path",
    STRING,
    required=True,
    aliases=("tablePath",),
    doc="Path of this entry's table: database.schema.table.",
)

_COMMON = tuple(option for option in COMMON[Kind.TRANSFORM] if option not in (TABLE_MATCH, TABLE_TRANSFORM, RULE_MATCH))


def with_tables(declared: Iterable[Option[Any]]) -> tuple[Option[Any], ...]:
    """Return the options of a transform, plus entries for single tables, which can replace required options."""
    own = tuple(declared)
    entries = evolve(TABLE_TRANSFORM, type=ENTRIES(TABLE_PATH, *own))
    return (*(evolve(option, unless=(*option.unless, entries.key)) for option in own), entries)


def transform_of(
    plugin: type[Transform] | type[DataFrameTransform], options: Options
) -> Transform | DataFrameTransform:
    """Return the transform for the options of ``with_tables``; raise ``UsageError`` if they conflict."""
    entries: tuple[Options, ...] = options[TABLE_TRANSFORM] or ()
    everywhere = options[TABLE_MATCH] == TABLE_MATCH.default
    if everywhere and not entries:
        return plugin(options)
    if issubclass(plugin, DataFrameTransform):
        asked = TABLE_TRANSFORM if entries else TABLE_MATCH
        raise UsageError(
            f"option {asked.key!r}: {plugin.identifier} runs on Spark, which processes one table at a time; select "
            "an input with a single table in plugin_input, or use the Sql or Python transform"
        )
    shared = {option.key: options[option] for option in _COMMON if options.is_set(option)}
    single: dict[str, list[Transform]] = {}
    findings = Findings()
    for number, entry in enumerate(entries, 1):
        chosen = single.setdefault(entry[TABLE_PATH], [])
        if chosen and not options[RULE_MATCH]:
            raise UsageError(
                f"option {TABLE_TRANSFORM.key!r}: two entries have the table_path {entry[TABLE_PATH]!r}; "
                f"{RULE_MATCH.key} = ALL_MATCH applies both in order, FIRST_MATCH only the first"
            )
        written = {option.key: entry[option] for option in entry.declared if entry.is_set(option)}
        with findings.part(f"option {TABLE_TRANSFORM.key!r}, entry {number}: "):
            made = plugin(Options({**shared, **written}, (*_COMMON, *entry.declared)))
            if not chosen or options[RULE_MATCH] == "ALL_MATCH":
                chosen.append(made)
    findings.raise_all()
    return PerTable(plugin, _general(plugin, options), _pattern(options[TABLE_MATCH]), single)


def _general(plugin: type[Transform], options: Options) -> Transform | None:
    """Return the transform for tables without an entry; ``None`` if options are set only in entries."""
    known = {option.key for option in COMMON[Kind.TRANSFORM]}
    own = [option for option in plugin.declared if option.key not in known]
    if not options.is_set(TABLE_MATCH) and not any(options.is_set(option) for option in own):
        return None
    missing = [option.key for option in own if option.required and not options.is_set(option)]
    if missing:
        raise UsageError(
            f"option {missing[0]!r} is required for tables without an entry in {TABLE_TRANSFORM.key}; to pass "
            "those tables through unchanged, also remove the other general options"
        )
    return plugin(options)


def _pattern(written: str) -> "re.Pattern[str]":
    try:
        return re.compile(written)
    except re.error as error:
        raise UsageError(f"option {TABLE_MATCH.key!r}: {written!r} is not a regular expression: {error}") from None


class PerTable(Transform):
    """Transform with separate options for some tables, and general options for other matching tables."""

    keeps_absent = True
    identifier: str  # type: ignore[misc]
    task_modules: tuple[str, ...]  # type: ignore[misc]

    def __init__(
        self,
        plugin: type[Transform],
        general: Transform | None,
        pattern: "re.Pattern[str]",
        single: Mapping[str, Sequence[Transform]],
    ) -> None:
        super().__init__(Options({}, ()))
        self.identifier, self.task_modules = plugin.identifier, plugin.task_modules
        self._general = general
        self._pattern = pattern
        self._single = dict(single)
        every = [each for chosen in single.values() for each in chosen] + ([] if general is None else [general])
        self.keeps_columns = all(each.keeps_columns for each in every)
        self.needs_origins = any(each.needs_origins for each in every)
        self.drops_origins = any(each.drops_origins for each in every)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return self.output_schemas(schema)[0]

    def output_schemas(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        tables: tuple[TableSchema, ...] = (schema,)
        for chosen in self._of(schema.table):
            tables = tuple(after for table in tables for after in chosen.output_schemas(table))
        return tables

    def apply(self, batch: Batch) -> Iterator[Batch]:
        batches = iter((batch,))
        for chosen in self._of(batch.table):
            batches = chain.from_iterable(map(partial(_applied, chosen), batches))
        return batches

    def _of(self, table: str) -> Sequence[Transform]:
        if table in self._single:
            return self._single[table]
        return (self._general,) if self._general is not None and self._pattern.fullmatch(table) else ()


def _applied(chosen: Transform, batch: Batch) -> Iterator[Batch]:
    if batch.absent and not chosen.keeps_absent:
        require_arrived(batch, chosen.identifier)
    return chosen.apply(batch)
