"""Several tables from one source: ``tables_configs`` has one entry with options for each table.

A source plugin reads one table, and only has to add ``tables_option`` to its options. The engine creates one plugin
object per entry, and ``SeveralTables`` combines them into one source.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.config.option import ENTRIES, Option, Options
from seatunnel_core.connector_api.capabilities import SupportsFacts
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.findings import Findings
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.schema_block import table_name
from seatunnel_core.work.names import repeated
from seatunnel_core.work.split import Split

__all__ = ["TABLES", "tables_option"]

TABLES = "tables_configs"

ROW_ERRORS = "row_error_handle_way"
_BESIDE = {TABLES, ROW_ERRORS}

RUN_BYTES = 32 << 20
"""Number of bytes to read from one table before switching to the next, so that small tables are read as a whole."""


def tables_option(declared: Iterable[Option[Any]]) -> Option[Any]:
    """Return the option ``tables_configs`` of a source.

    Args:
        declared: Options that are allowed in each entry.
    """
    return Option(
        TABLES,
        ENTRIES(*declared),
        aliases=("table_list",),
        doc=(
            "Options of several tables: one block per table, instead of these options at the top level. "
            "schema.table is the table's name."
        ),
    )


def source_of(plugin: type[Source], options: Options) -> Source:
    """Return the source of a job, with one table or several.

    Raises:
        UsageError: Options of an entry are contradictory, or entries are incompatible.
    """
    entries = plugin.tables(options)
    if not entries:
        return plugin(options)
    allowed = _BESIDE | plugin.beside_tables
    beside = [option.key for option in plugin.declared if options.is_set(option) and option.key not in allowed]
    if options.get(TABLES) and beside:
        raise UsageError(
            f"option {beside[0]!r} has no effect on the entries of {TABLES}; set it in each entry that needs it"
        )
    return SeveralTables(options, _by_table(plugin, entries, options))


def _beside(entry: Options, options: Options) -> Options:
    """Return the options of an entry, combined with the options for all entries."""
    if not options.is_set(ROW_ERRORS):
        return entry
    return Options(
        {**{key: entry[key] for key in entry if entry.is_set(key)}, ROW_ERRORS: options[ROW_ERRORS]}, entry.declared
    )


def _by_table(plugin: type[Source], entries: Sequence[Options], options: Options) -> dict[str, Source]:
    found: dict[str, Source] = {}
    named: set[str] = set()
    findings = Findings()
    for number, entry in enumerate(entries, 1):
        table = table_name(entry.get("schema"))
        with findings.part():
            if table in named:
                raise UsageError(
                    f"option {TABLES!r}: entry {number} has the same table {table!r} as another entry; set a "
                    'different name in each entry: schema { table = "shop.orders" }'
                )
            named.add(table)
            with findings.part(f"option {TABLES!r}, entry {number}: "):
                found[table] = plugin(_beside(entry, options))
    findings.raise_all()
    return found


class SeveralTables(Source):
    """Source that delegates each call to the source of a table.

    Discovered objects and split bodies contain the name of their table, so a job can read its existing splits after its
    tables were changed.
    """

    identifier: str  # type: ignore[misc]
    replayable: bool
    ordered: bool  # type: ignore[misc]
    caveat: str
    task_modules: tuple[str, ...]

    def __init__(self, options: Options, sources: Mapping[str, Source]) -> None:
        """Create a source that combines the sources of at least one table, given by table name.

        Raises:
            UsageError: Only some of the tables are bounded, or the source receives facts from its readers.
        """
        super().__init__(options)
        self._sources = dict(sources)
        reporting = next((each for each in sources.values() if isinstance(each, SupportsFacts)), None)
        if reporting is not None:
            raise UsageError(
                f"option {TABLES!r}: {reporting.identifier} does not support this option, because the source "
                "implements absorb"
            )
        first = next(iter(self._sources.values()))
        self.identifier, self.replayable, self.ordered = first.identifier, first.replayable, first.ordered
        self.caveat = first.caveat
        self.task_modules = tuple(dict.fromkeys(name for each in sources.values() for name in each.task_modules))
        self._set_bounded()
        self._set_waits()

    def run_in(self, *, streaming: bool) -> None:
        for source in self._sources.values():
            source.run_in(streaming=streaming)
        self._set_bounded()
        self._set_waits()

    def _set_waits(self) -> None:
        waits = {source.waits for source in self._sources.values()}
        self.waits = True if True in waits else None if None in waits else False

    def _set_bounded(self) -> None:
        ends = {source.bounded for source in self._sources.values()}
        if len(ends) > 1:
            endless = [table for table, source in self._sources.items() if not source.bounded]
            raise UsageError(
                f"option {TABLES!r}: the tables {', '.join(endless)} are unbounded, but the others are bounded; read "
                "them with two sources"
            )
        self.bounded = ends == {True}

    @property
    def read_path(self) -> str | None:
        return ", ".join(self.read_paths) or None

    @property
    def read_paths(self) -> tuple[str, ...]:
        return tuple(path for source in self._sources.values() for path in source.read_paths)

    # -- planning -------------------------------------------------------------------------------------------------

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        return [
            {"table": table, "item": item}
            for table, source in self._sources.items()
            for item in source.discover(planning)
        ]

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        if item.get("inspected"):
            return item
        return {**item, "item": self._sources[item["table"]].inspect(item["item"], planning)}

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        """Enumerate all tables on the first call, and later only the tables of the given objects."""
        asked = list(self._sources) if self.bounded or not inspected else {item["table"]: None for item in inspected}
        found = {
            table: self._sources[table].enumerate(
                [item["item"] for item in inspected if item["table"] == table], planning
            )
            for table in asked
        }
        splits = [
            evolve(split, index=index, body={"table": table, "split": split.body})
            for index, (table, split) in enumerate(_in_turn({table: each.splits for table, each in found.items()}))
        ]
        return Enumeration(schemas=_different(found), splits=tuple(splits))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        """Poll each table at its own interval."""
        known = stored.below(cursor, "tables") if cursor else {}
        passed_ms = stored.number(cursor, "passed_ms") if cursor else 0
        items: list[DiscoveredObject] = []
        warnings: list[str] = []
        after: dict[str, Any] = {}
        inspect = False
        for table, source in self._sources.items():
            before = known.get(table, {"memory": {}, "in_ms": 0})
            ended = stored.member(before, "in_ms") is None
            wait_ms = 0 if ended else stored.number(before, "in_ms") - passed_ms
            if ended or wait_ms > 0:
                after[table] = {**before, "in_ms": None if ended else wait_ms}
                continue
            polled = source.poll(stored.below(before, "memory"), planning)
            items += [{"table": table, "item": item, "inspected": not polled.inspect} for item in polled.items]
            warnings += polled.warnings
            inspect = inspect or polled.inspect
            after[table] = {"memory": dict(polled.cursor), "in_ms": polled.again_ms}
        again_ms = min((each["in_ms"] for each in after.values() if each["in_ms"] is not None), default=None)
        return PollResult(
            items=tuple(items),
            inspect=inspect,
            cursor={"tables": after, "passed_ms": again_ms or 0},
            again_ms=again_ms,
            warnings=tuple(warnings),
        )

    def require_input(self) -> None:
        for table, source in self._sources.items():
            try:
                source.require_input()
            except SourceError as error:
                raise SourceError(f"table {table}: {error}") from error

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        found = [source.planned_schemas() for source in self._sources.values()]
        return None if None in found else tuple(schema for schemas in found for schema in schemas or ())

    def planned_reading(self) -> Sequence[str]:
        return [remark for source in self._sources.values() for remark in source.planned_reading()]

    def open(self, *, restored: bool) -> None:
        for source in self._sources.values():
            source.open(restored=restored)

    @property
    def acknowledges(self) -> bool:  # type: ignore[override]
        return any(source.acknowledges for source in self._sources.values())

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        known = stored.below(cursor, "tables") if cursor else {}
        for table, source in self._sources.items():
            if source.acknowledges:
                own = stored.below(known[table], "memory") if table in known else {}
                source.acknowledge(_of_table(table, planned), _of_table(table, unread), own)

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        table = stored.text(split.body, "table")
        yield from self._of(table).read(evolve(split, body=stored.below(split.body, "split")), context)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        by_table: dict[str, list[Split]] = {}
        for split in splits:
            own = evolve(split, body=stored.below(split.body, "split"))
            by_table.setdefault(stored.text(split.body, "table"), []).append(own)
        return [f"table {table}: {text}" for table, own in by_table.items() for text in self._of(table).describe(own)]

    def _of(self, table: str) -> Source:
        if table not in self._sources:
            raise SourceError(
                f"the table {table!r} was planned when the job started, but is no longer an entry of {TABLES}; "
                "restore it, or start a new job"
            )
        return self._sources[table]


def _of_table(table: str, splits: Sequence[Split]) -> list[Split]:
    """Return the splits of a table in the form that the table's own source expects."""
    own = (split for split in splits if split.body["table"] == table)
    return [evolve(split, body=stored.below(split.body, "split")) for split in own]


def _in_turn(splits: Mapping[str, Sequence[Split]]) -> list[tuple[str, Split]]:
    """Interleave the splits of all tables in runs of ``RUN_BYTES``, so that they finish at about the same time."""
    pieces: list[tuple[float, str, list[Split]]] = []
    for table, own in splits.items():
        total = sum(max(split.weight_bytes, 1) for split in own)
        begun = held = 0
        for split in own:
            if not held or held >= RUN_BYTES:
                pieces.append((begun / total, table, []))
                held = 0
            pieces[-1][2].append(split)
            begun += max(split.weight_bytes, 1)
            held += max(split.weight_bytes, 1)
    ordered = sorted(pieces, key=lambda piece: piece[0])
    return [(table, split) for _, table, own in ordered for split in own]


def _different(found: Mapping[str, Enumeration]) -> tuple[TableSchema, ...]:
    schemas = tuple(schema for each in found.values() for schema in each.schemas)
    names = [schema.table for schema in schemas]
    doubled = repeated(names)
    if doubled:
        raise SourceError(f"two entries of {TABLES} produce the table {', '.join(doubled)}")
    return schemas
