"""The ``Postgres-CDC`` source, which reads a snapshot of tables and then their changes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial, reduce
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core.capture_errors import CaptureSetupError
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import ConnectorError, SourceError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.replication_slot import ReplicationSlot
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.change_data.captured_table import later_tables
from seatunnel_core.connectors.change_data.chunks import Chunks, ChunkStart
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.rereading import skipped_chunk
from seatunnel_core.connectors.change_data.shape import require_same_keys
from seatunnel_core.connectors.jdbc.databases.dialect import TASK_MODULES
from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.reading import only_shown
from seatunnel_core.connectors.postgres_cdc import changed_columns
from seatunnel_core.connectors.postgres_cdc import options as opt
from seatunnel_core.connectors.postgres_cdc.capture_progress import Observed, capture_progress
from seatunnel_core.connectors.postgres_cdc.captured_checks import identity_problems, require_captured
from seatunnel_core.connectors.postgres_cdc.chunk_reading import chunk_rows
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.held_snapshot import HeldSnapshot
from seatunnel_core.connectors.postgres_cdc.job_slot import described_slot, drop_slot, needs_slot
from seatunnel_core.connectors.postgres_cdc.large_values import require_whole_rows
from seatunnel_core.connectors.postgres_cdc.logged_tables import logged_tables
from seatunnel_core.connectors.postgres_cdc.message_source import read_at
from seatunnel_core.connectors.postgres_cdc.planner import POLL_MS, Planner
from seatunnel_core.connectors.postgres_cdc.preparation import Preparation
from seatunnel_core.connectors.postgres_cdc.published_tables import entries_of, require_same_tables
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange, RangeReader
from seatunnel_core.connectors.postgres_cdc.requested_reread import requested
from seatunnel_core.connectors.postgres_cdc.server import (
    LogEnd,
    advance_idle_slot,
    identity,
    limit_note,
    log_end,
    problems_of,
    require_retained,
    require_same_server,
    slot_note,
)
from seatunnel_core.connectors.postgres_cdc.settings import Settings, require_own_slots
from seatunnel_core.connectors.postgres_cdc.snapshot_delay import SnapshotDelay
from seatunnel_core.connectors.postgres_cdc.splits import described, split_of
from seatunnel_core.connectors.postgres_cdc.tables import (
    Captured,
    captured_tables,
    chosen_tables,
    in_order,
    require_same_columns,
)
from seatunnel_core.connectors.postgres_cdc.visibility import ServerVisibility
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import publication
from seatunnel_core.connectors.postgres_log.slots import slot_state
from seatunnel_core.connectors.postgres_log.sql_connection import connect

_ONLY_IN_DRIVER: Mapping[str, Any] = {"_planner": None, "_observed": None, "_preparation": None}


class PostgresCdcSource(Source):
    """Source of snapshots and changes; bounded with ``startup.mode = snapshot-only`` or ``stop.mode = latest``."""

    identifier: ClassVar[str] = "Postgres-CDC"
    declared: ClassVar[tuple[Option[Any], ...]] = opt.SOURCE_OPTIONS
    task_modules: tuple[str, ...] = TASK_MODULES["postgresql"]
    bounded = False
    ordered = True
    acknowledges = True
    acknowledges_oldest = True
    caveat = (
        "Exceptions: the job fails if another program advances or drops the replication slot. With sinks that "
        "write directly, rows that are deleted while tables are copied may remain after a failure"
    )
    example = """
        url = "jdbc:postgresql://localhost:5432/shop"
        username = "seatunnel"
        password = "secret"
        table-names = ["shop.public.orders", "shop.public.people"]
        slot.name = "shop_copy"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._settings = Settings.of(options)
        self._emission = Emission.of(options, "postgresql")
        self.has_origins = self._emission.messages is None
        self._dialect = PostgreSQL(self._settings.session, self._settings.pool_size)
        self._tables: tuple[Captured, ...] = ()
        self._snapshot: HeldSnapshot | None = HeldSnapshot()
        self._preparation: Preparation | None = Preparation(self._settings)
        self._delay = SnapshotDelay()
        self._is_closed = False
        self._planner: Planner | None = None
        self._observed: Observed | None = None
        self._published: Lsn | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task, without connections and data that only the driver needs."""
        tables = tuple(evolve(table, found=only_shown(table.found)) for table in self._tables)
        return {**self.__dict__, "options": None, "_tables": tables, "_snapshot": None, **_ONLY_IN_DRIVER}

    @classmethod
    def meet(cls, sources: Sequence[Source]) -> None:
        """Raise UsageError if two sources of a job use the same slot."""
        require_own_slots(source._settings for source in sources if isinstance(source, PostgresCdcSource))

    # -- planning -------------------------------------------------------------------------------------------------

    def require_input(self) -> None:
        with self._connected() as connection:
            chosen = chosen_tables(connection, self._settings)
            problems = problems_of(connection, self._settings, chosen)
            if not problems:
                problems = identity_problems(connection, self._found(connection), self._settings)
        if problems:
            raise CaptureSetupError("; ".join(problems))
        self._emission.require_matched([table.found for table in self._tables])

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        self.require_input()
        return self._emission.schemas([each.found for each in self._tables_of_server()])

    def planned_reading(self) -> Sequence[str]:
        with self._connected() as connection:
            found = self._found(connection)
            notes = [f"captures {len(found)} tables: {', '.join(table.name for table in found)}"]
            if self._settings.reads_log:
                name = self._settings.publication
                exists = publication(connection, name) is not None
                notes.append(f"the publication {name} {'exists' if exists else 'does not exist, and will be created'}")
                notes.append(slot_note(slot_state(connection, self._settings.slot), self._settings.slot))
                notes += filter(None, [limit_note(connection)])
            notes += [note for table in found if (note := table.found.division_note()) is not None]
        return [*notes, *self._emission.notes]

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        """Return the schemas of the tables, or the splits that a poll has planned."""
        if inspected:
            return Enumeration(schemas=(), splits=tuple(split_of(*each) for each in enumerate(inspected)))
        return Enumeration(schemas=self.planned_schemas(), splits=())

    def restored_schemas(
        self, cursor: PollCursor, schemas: Sequence[TableSchema], *, job_id: str = ""
    ) -> Sequence[TableSchema]:
        """Return the schemas of the rows after the cursor."""
        state, is_new = Capture.from_record(cursor), self._planner is None
        self._tables = () if is_new else self._tables
        tables = in_order(self._tables_of_server(), (name for name, _ in state.tables))
        require_same_tables(tables, state.published)
        changed_columns.require_split_columns(state, tables)
        changed_columns.require_protected(state, tables, self._emission.rules)
        with self._connected() as connection:
            require_same_server(connection, self._settings.address, state.server, state.timeline)
            require_retained(connection, self._settings, state.log)
            if self._emission.messages is not None:
                return schemas
            present, rules = tables, self._emission.rules
            if is_new:
                search = partial(logged_tables, connection, self._settings, job_id, self._preparation, rules.selects)
                tables = changed_columns.resumed_tables(state, present, schemas, rules, search)
        if is_new:
            require_same_keys(self._emission.schemas([table.found for table in (*present, *tables)]), schemas)
            changed_columns.with_columns(state, tables, emits_rows=True)
            self._emission.require_supported([table.found for table in tables])
            self._tables = tuple({each.name: each for each in (*self._tables, *tables)}.values())
        return self._emission.schemas([table.found for table in tables])

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        try:
            return self._polled(cursor, planning)
        finally:
            if self._is_closed:  # during the poll, which has opened connections since then
                self.close()

    def _polled(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        chosen = self._tables
        with self._connected() as connection:
            state = self._state(connection, cursor, planning.job_id)
            if state is None:
                assert self._preparation is not None, "only the driver polls"
                warnings = self._preparation.warnings(connection)
                return PollResult(items=(), cursor={}, again_ms=POLL_MS, warnings=warnings)
            if state.changed is not None:
                state = changed_columns.checked_change(state)
                if state.changed is not None:
                    return PollResult(items=(), cursor=state.record(), again_ms=0)
            planner = self._planner_of(state)
            planner.job_id, planner.confirmed = planning.job_id, self._published or planner.confirmed
            snapshot, ends = self._snapshot, list[LogEnd]()
            assert snapshot is not None, "only the driver polls"

            def end() -> LogEnd:
                ends.append(log_end(connection, self._settings.slot, flush=self._settings.stops))
                return ends[-1]

            visibility = ServerVisibility(connection=connection, tables=self._tables)
            with self._dialect.pool.lend() as own:
                held = partial(snapshot.name, self._settings.sql(), state.least)
                found = planner.next(state, own, held, end, visibility)
            after = found.state
            self._observe(connection, after, ends, is_first=not cursor)
            if after.reading and found.items and after.published:
                tables = in_order(self._tables, (name for name, _ in after.tables))
                require_captured(connection, self._settings, tables, after.published)
            if after.until:
                snapshot.close()
            if not found.items and not after.reading and after.log:
                advance_idle_slot(connection, self._settings.slot, planner.confirmed)
            later = later_tables([each.found for each in self._tables], [each.found for each in chosen])
            warnings = (*(self._delay.warnings(connection) if found.is_delayed else ()), *filter(None, [later]))
            return PollResult(items=found.items, cursor=after.record(), again_ms=found.again_ms, warnings=warnings)

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        """Add reported chunk marks and range ends to the cursor."""
        return reduce(Capture.with_fact, facts, Capture.from_record(cursor)).record()

    def captured_tables(self) -> Sequence[str]:
        """Return the names of the captured tables."""
        return [table.name for table in self._tables]

    def reread(self, cursor: PollCursor, table: str) -> PollCursor:
        """Return the cursor with a request to read a table again."""
        state, emits_rows = Capture.from_record(cursor), self._emission.messages is None
        known = requested(state, table, self._settings, self._tables, self._connected, emits_rows=emits_rows)
        return known.record()

    def progress(self, cursor: PollCursor) -> SourceProgress | None:
        """Return the progress at a cursor, as shown to users; ``None`` before the first poll."""
        observed = self._observed
        return capture_progress(Capture.from_record(cursor), observed) if observed is not None and cursor else None

    def _observe(self, connection: Any, state: Capture, ends: Sequence[LogEnd], *, is_first: bool) -> None:
        """Record the end of the log for progress reports. Query it if the poll did not."""
        assert self._observed is not None, "the planner exists"
        if state.log:
            end = ends[-1] if ends else log_end(connection, self._settings.slot)
            starts_now = is_first and self._settings.startup in ("initial", "latest")
            self._observed = self._observed.and_end(state, end, starts_now=starts_now)

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        """Allow the next range to advance the slot to the position of the cursor."""
        if cursor and (log := Capture.from_record(cursor).log):
            self._published = Lsn.parse(log)

    def open(self, *, restored: bool) -> None:
        """Query the tables, because tasks continue chunks and ranges before the first poll."""
        self._is_closed = False
        self._tables_of_server()

    def close(self) -> None:
        self._is_closed = True
        for held in (self._snapshot, self._preparation):
            if held is not None:
                held.close()

    def require_readable(self, cursor: PollCursor, unread: Sequence[Split]) -> None:
        """Raise SourceChangedError if the slot was confirmed beyond the cursor, or the server has changed."""
        state = Capture.from_record(cursor)
        with self._connected() as connection:
            require_same_server(connection, self._settings.address, state.server, state.timeline)
            require_retained(connection, self._settings, state.log)

    def replication_slot(self) -> ReplicationSlot | None:
        """Return the slot and the publication as described by the server; ``None`` if the log is not read."""
        if not self._settings.reads_log:
            return None
        with self._connected() as connection:
            return described_slot(connection, self._settings)

    def needs_slot(self, cursor: PollCursor) -> bool:
        """Return True if a job can use the slot to resume from this cursor."""
        with self._connected() as connection:
            return needs_slot(connection, self._settings, cursor)

    def drop_slot(self) -> Sequence[str]:
        """Drop the slot, and its publication if the engine created it."""
        with self._connected() as connection:
            return drop_slot(connection, self._settings)

    def _state(self, connection: Any, cursor: PollCursor, job_id: str) -> Capture | None:
        """Return the state in a cursor or the initial state; ``None`` while open transactions delay the start."""
        known, address = Capture.from_record(cursor) if cursor else None, self._settings.address
        if known is not None:
            known = evolve(known, timeline=require_same_server(connection, address, known.server, known.timeline))
            self._planner_of(known)
            known = changed_columns.with_columns(known, self._tables, emits_rows=not self._emission.messages)
        if self._settings.reads_log:
            assert self._preparation is not None, "only the driver polls"
            is_reading = known is not None and bool(known.reading)
            self._preparation.hold_slot(connection, job_id, is_reading=is_reading)
        return known or self._first(connection, job_id)

    def _first(self, connection: Any, job_id: str) -> Capture | None:
        """Create the slot and the publication. Return the initial state; ``None`` while open transactions delay it."""
        settings, tables = self._settings, self._found(connection)
        start, paths = None, [table.path for table in tables]
        if settings.reads_log:
            assert self._preparation is not None, "only the driver polls"
            start = self._preparation.next(connection, job_id, paths)
            if start is None:
                return None
        return Capture(
            **identity(connection),
            slot=settings.slot if settings.reads_log else "",
            tables=tuple((table.name, table.shape) for table in tables),
            published=entries_of(connection, settings.publication, tables) if settings.reads_log else (),
            log="" if start is None else str(start.position),
            least=0 if start is None else start.least,
            protected=changed_columns.protected_columns(None, tables),
            chunks=ChunkStart(table=0 if settings.reads_tables else len(tables)),
        )

    def _planner_of(self, state: Capture) -> Planner:
        if self._planner is None:
            self._tables = in_order(self._tables_of_server(), (name for name, _ in state.tables))
            settings, chunks = self._settings, Chunks([table.found for table in self._tables])
            self._planner = Planner(chunks, len(self._tables), settings.reads_log, settings.stops, settings.slot)
            rereads = self._planner.rereads
            self._observed = Observed(chunks=chunks, rereads=rereads, reads_tables=settings.reads_tables)
        return self._planner

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        (where,) = self.describe([split])
        with self._errors_wrapped(f"{where} cannot be read"):
            if "chunk" in split.body:
                yield from self._chunk(split.body["chunk"], context, where)
            else:
                wanted = LogRange.of(split.body)
                tables = in_order(self._tables, (name for name, _ in wanted.tables))
                reader = RangeReader(self._settings, self._dialect, tables, wanted, context, self._emission)
                yield from reader.batches()
                context.report_fact(reader.fact())

    def _chunk(self, body: Mapping[str, Any], context: ReadContext, where: str) -> Iterator[Batch]:
        (table,) = in_order(self._tables, [body["table"]])
        if body.get("reread") and not (table.is_readable and table.has_shape(body["shape"])):
            return skipped_chunk(body["number"], context)
        require_same_columns(table, body["shape"])
        if body["number"] == 0 and self._settings.reads_log and not body.get("reread"):
            require_whole_rows(self._connected, self._tables, context)
        address = self._settings.address
        rows = chunk_rows(self._dialect, table.found, body, body["snapshot"], table.oid)
        batches = self._emission.fitted(table.found, rows, body["number"], f"{address}, {where}", context)
        return self._emission.chunk(batches, table.found, read_at(address.database, table.path))

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [described(split.body) for split in splits]

    def _tables_of_server(self) -> tuple[Captured, ...]:
        with self._connected() as connection:
            return self._found(connection)

    def _found(self, connection: Any) -> tuple[Captured, ...]:
        """Return the captured tables as described by the database. The result is cached."""
        if not self._tables:
            chosen = chosen_tables(connection, self._settings)
            published = publication(connection, self._settings.publication) if self._settings.reads_log else None
            tables = captured_tables(self._dialect, connection, self._settings, chosen, published, self._emission.rules)
            self._emission.require_supported([table.found for table in tables])
            self._tables = tables
        return self._tables

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        with self._errors_wrapped("it cannot be captured"), closing(connect(self._settings.sql())) as connection:
            yield connection

    @contextmanager
    def _errors_wrapped(self, what: str) -> Iterator[None]:
        """Convert database errors to SourceError, retryable if a retry may succeed."""
        try:
            yield
        except ConnectorError:
            raise
        except Exception as error:
            raise self._dialect.failed(SourceError, f"{self._settings.address}: {what}", error) from error
