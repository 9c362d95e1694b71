"""The ``MySQL-CDC`` and ``MariaDB-CDC`` sources."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Option, Options
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
from seatunnel_core.connectors.change_data import options as shared
from seatunnel_core.connectors.change_data.captured_table import later_tables
from seatunnel_core.connectors.change_data.column_rules import path_of
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.rereading import NOT_ENDLESS, requested, require_table, skipped_chunk
from seatunnel_core.connectors.change_data.table_choice import TableChoice
from seatunnel_core.connectors.jdbc.databases.dialect import TASK_MODULES
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc import options as opt
from seatunnel_core.connectors.mysql_cdc.capture_progress import Observed, capture_progress
from seatunnel_core.connectors.mysql_cdc.changed_columns import ResumedColumns, defined_tables, resumed_columns
from seatunnel_core.connectors.mysql_cdc.chunk_places import divisible
from seatunnel_core.connectors.mysql_cdc.chunk_reader import ChunkReader
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation, continuation_of, require_same_log
from seatunnel_core.connectors.mysql_cdc.failover.former_splits import is_skipped
from seatunnel_core.connectors.mysql_cdc.failover.readiness import failover_note
from seatunnel_core.connectors.mysql_cdc.failover.tracking import Tracking
from seatunnel_core.connectors.mysql_cdc.job_start import first_progress, start_warnings
from seatunnel_core.connectors.mysql_cdc.log_reader import LogReader
from seatunnel_core.connectors.mysql_cdc.message_source import read_at
from seatunnel_core.connectors.mysql_cdc.planning import IDLE_MS, Planned, Planner
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.range_reader import RangeReader
from seatunnel_core.connectors.mysql_cdc.recorded_tables import (
    captured_ones,
    changed_columns,
    known_tables,
    named_tables,
    recorded,
    same_tables,
    with_options,
)
from seatunnel_core.connectors.mysql_cdc.retention import Retention
from seatunnel_core.connectors.mysql_cdc.server import ServerReplacedError, ServerState, server_of
from seatunnel_core.connectors.mysql_cdc.server_tables import chosen_tables, database_pattern, for_tasks
from seatunnel_core.connectors.mysql_cdc.splits import described, split_of, start_of
from seatunnel_core.connectors.mysql_cdc.table_checks import require_lockable
from seatunnel_core.connectors.mysql_log.columns import ValueRules
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of

_ONLY_IN_DRIVER: Mapping[str, Any] = {"_planner": None, "_observed": None, "_columns": None, "_tracking": None}


class MySQLCdcSource(Source):
    """Source that reads a snapshot of tables, and then their changes from MySQL's binary log."""

    identifier: ClassVar[str] = "MySQL-CDC"
    connector: ClassVar[str] = "mysql"
    """Name of the connector in messages."""

    declared: ClassVar[tuple[Option[Any], ...]] = opt.OPTIONS
    task_modules: tuple[str, ...] = TASK_MODULES["mysql"]
    bounded = False
    waits = False
    ordered = True
    acknowledges = True
    acknowledges_oldest = True
    caveat = (
        "Exceptions: the job fails if the server removes a part of its log before the job has read it, or if another "
        "server takes over and its GTIDs do not determine where the job continues; and with sinks that write "
        "directly, rows that are deleted while tables are copied may remain after a failure"
    )
    example = """
        url = "jdbc:mysql://localhost:3306/shop"
        username = "reader"
        password = "secret"
        table-names = ["shop.orders"]
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        opt.require_supported(options)
        TableChoice.of(options)
        self._databases = database_pattern(options)
        self._jdbc = shared.jdbc_options(options, int_narrowing=options[opt.INT_NARROWING])
        self._emission = Emission.of(options, self.connector)
        self.has_origins = self._emission.messages is None
        # Messages contain moments, which a zone with summer time would make ambiguous.
        self._zone: str = options[opt.SERVER_ZONE] if self._emission.messages is None else "UTC"
        self._server = server_of(self._jdbc, self._zone)
        self._tables: tuple[Found, ...] = ()
        self._state: ServerState | None = None
        self._planner: Planner | None = None
        self._observed: Observed | None = None
        self._oldest: LogPosition | None = None
        self._tracking = Tracking()
        self._columns: ResumedColumns | None = None
        """Columns of a resumed job that are not yet stored in its cursor."""

        self._former: Sequence[str] = ()
        """Tables with their columns in the log, which differ from the current columns."""

        self._defined: LogPosition | None = None
        """Log position up to which column changes are applied to the tables; ``None`` unless a change was resumed."""

    def __getstate__(self) -> dict[str, Any]:
        tables = tuple(map(for_tasks, self._tables))
        return {**self.__dict__, "options": None, "_jdbc": None, "_tables": tables, **_ONLY_IN_DRIVER}

    # -- planning -------------------------------------------------------------------------------------------------

    def require_input(self) -> None:
        tables = self._look()
        self._emission.require_matched(tables)
        if self._state is not None and self.options[opt.STARTUP_MODE] == "initial":
            require_lockable(self._server, self._state, tables)

    def planned_schemas(self) -> tuple[TableSchema, ...]:
        self.require_input()
        return self._emission.schemas(self._look())

    def planned_reading(self) -> Sequence[str]:
        warnings = self._warnings()
        assert self._state is not None
        found = Retention.of(self._state.settings)
        retention = [] if found.warning() else [found.note()]
        return [*warnings, *retention, failover_note(self._server, self._state)]

    def _warnings(self) -> list[str]:
        """Return the warnings that ``--check`` and the first poll of a job show."""
        tables = self._look()
        assert self._state is not None
        return [*start_warnings(self.options, self._server, self._state, tables), *self._emission.notes]

    def open(self, *, restored: bool) -> None:
        self._look()

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        schemas = self._emission.schemas(self._look()) if inspected else self.planned_schemas()
        return Enumeration(schemas=schemas, splits=tuple(split_of(*each) for each in enumerate(inspected)))

    def restored_schemas(
        self, cursor: PollCursor, schemas: Sequence[TableSchema], *, job_id: str = ""
    ) -> Sequence[TableSchema]:
        """Return the schemas of the rows after the cursor. A restart in the same process keeps the columns."""
        self._follow()
        progress, record, rules = Progress.of(cursor), cursor["tables"], self._emission.rules
        self._look()
        assert self._state is not None
        if (elsewhere := self._elsewhere(progress)) is not None:
            self._planner, self._columns, self._former, self._defined = None, None, (), None
            elsewhere.require_executed()  # a replica may not have executed changes of columns yet
            known = elsewhere.same_tables(record, self._look_again(), rules)
            return schemas if self._emission.messages is not None else self._emission.schemas(known)
        self._tracking.is_verified = False  # the server may have been restored from a backup in the meantime
        self._tracking.verify(self._server, self._state, progress)
        if self._emission.messages is not None:
            return schemas
        # A change of columns may already be applied: a restart in the same process must not report it again.
        is_applied = progress.is_reported and self._defined is not None and progress.log <= self._defined
        if self._planner is not None and not is_applied:
            known = known_tables(record, self._tables, rules, logs_names=self._state.logs_names)
            if not changed_columns(record, known):
                return self._emission.schemas(known)
        self._planner, self._columns, self._former = None, None, ()
        tables = self._look_again()
        logs_names = self._state.logs_names
        known = known_tables(record, tables, rules, logs_names=logs_names, is_copying=progress.is_copying)
        self._defined = progress.defined
        if progress.changed or changed_columns(record, known):
            tables, end = defined_tables(self._server, self._state, self._look_again)
            known = known_tables(record, tables, rules, logs_names=logs_names, is_copying=progress.is_copying)
            self._columns = resumed_columns(self._server, known, progress, record, end, rules, logs_names=logs_names)
            known, self._defined = self._columns.tables, self._columns.defined
            self._former = tuple(self._columns.former)
            by_name = {each.reading.name: each for each in known}
            self._tables = tuple(by_name.get(each.reading.name, each) for each in tables)
        return self._emission.schemas(known)

    def _look_again(self) -> tuple[Found, ...]:
        self._tables = ()
        return self._look()

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        try:
            return self._polled(cursor, planning)
        except ServerReplacedError:
            self._follow()
            return self._polled(cursor, planning)
        except SourceError:
            self._tracking.is_verified = False  # the server may have been restored from a backup when it is back
            raise

    def _polled(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        tables = self._look()
        assert self._state is not None
        rules, logs_names = self._emission.rules, self._state.logs_names
        names: bytes = cursor["tables"] if cursor else recorded(tables, rules, logs_names=logs_names)
        start = (self.options, self._server, self._state, tables, self._found)
        progress = Progress.of(cursor) if cursor else first_progress(*start)
        warnings: list[str | None] = [] if cursor else [*self._warnings()]
        if (elsewhere := self._elsewhere(progress)) is not None:
            if progress.reading is not None:  # its reader reports that it has read nothing, or what it has read before
                return PollResult(items=(), cursor=cursor, again_ms=IDLE_MS)
            progress = elsewhere.continued(self._tracking.written, writes_directly=planning.writes_directly)
            warnings.append(elsewhere.moved())
            tables = self._look_again()  # a replica may have executed changes of columns since
        elif cursor:
            self._tracking.verify(self._server, self._state, progress)
        progress = self._tracking.tracked(self._server, self._state, progress)
        if self._columns is not None:
            progress, names = self._columns.applied(progress), self._columns.record
        if progress.stop is None:
            progress = evolve(progress, until_ms=self.options[opt.STOP_TIMESTAMP])
        if self._planner is None:
            captured = same_tables(names, tables, rules, logs_names=logs_names)
            names = with_options(names, captured)
            warnings.append(later_tables(captured, tables))
            self._planner = self._planner_of(captured, planning.parallelism)
            self._observed = Observed.of(self._planner, self._server)
        planned = self._planner.plan(progress)
        if planning.writes_directly:
            self._tracking.record_written(self._server, self._state, planned)
        self._columns = None  # the new cursor has them
        self._observe(planned, is_first=not cursor)
        return PollResult(
            items=planned.bodies,
            cursor={**planned.progress.cursor(), "tables": names},
            again_ms=planned.again_ms,
            warnings=tuple(each for each in warnings if each is not None),
        )

    def _planner_of(self, captured: Sequence[Found], parallelism: int) -> Planner:
        assert self._state is not None, "the tables are known"
        stops = self.options[opt.STOP_MODE] == "latest"
        return Planner.of(captured, self._server, self._state, parallelism, former=self._former, stops_at_end=stops)

    def _follow(self) -> None:
        """Discard the server state if the URL leads to another server. If unreachable, later queries detect this."""
        if self._state is None:
            return
        self._server.dialect.pool.close_idle()
        with suppress(SourceError):
            if self._server.state().identity != self._state.identity:
                self._server, self._state, self._tables = evolve(self._server, known=None), None, ()
                self._planner, self._observed, self._columns = None, None, None
                self._oldest, self._defined, self._former = None, None, ()
                self._tracking.follow()

    def _elsewhere(self, progress: Progress) -> Continuation | None:
        """Return the continuation on this server; ``None`` if the progress already belongs to it."""
        assert self._state is not None, "the tables are known"
        is_bounded = self.options[opt.STOP_MODE] != "never"
        return continuation_of(self._server, self._state, progress, is_bounded=is_bounded)

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        """Add reported chunk marks and range ends to the cursor."""
        return {**reduce(Progress.with_fact, facts, Progress.of(cursor)).cursor(), "tables": cursor["tables"]}

    def captured_tables(self) -> Sequence[str]:
        """Return the names of the captured tables."""
        return [each.reading.name for each in self._tables]

    def reread(self, cursor: PollCursor, table: str) -> PollCursor:
        """Return the cursor with a request to read a table again."""
        if self.options[opt.STOP_MODE] != "never":
            raise UsageError(NOT_ENDLESS)
        progress = Progress.of(cursor)
        emits_rows = self._emission.messages is None
        require_table(table, captured_ones(cursor["tables"], self._tables), emits_rows=emits_rows)
        if problem := self._server.state().problem():  # a target without rows needs complete changes
            raise UsageError(f"{self._server.dialect.address}: {problem}")
        return {**cursor, **evolve(progress, rereads=requested(progress.rereads, table)).cursor()}

    def require_readable(self, cursor: PollCursor, unread: Sequence[Split]) -> None:
        """Raise SourceChangedError if the log after the cursor was removed, or the server has changed."""
        progress = Progress.of(cursor)
        self._state = self._server.require_capturable()
        if (elsewhere := self._elsewhere(progress)) is not None:
            elsewhere.continued()
        else:
            require_same_log(self._server, self._state, progress)
            self._server.require_retained(min([progress.log, *map(start_of, unread)]))

    def progress(self, cursor: PollCursor) -> SourceProgress | None:
        """Return the progress at a cursor, as shown to users; ``None`` before the first poll."""
        observed = self._observed
        if observed is None or not self._is_here(cursor.get("server")):
            return None
        return capture_progress(Progress.of(cursor), observed, self._oldest)

    def _is_here(self, server: str | None) -> bool:
        state = self._state  # a poll in another thread may replace it
        return state is not None and server == state.identity

    def _observe(self, planned: Planned, *, is_first: bool) -> None:
        """Record the end of the log for progress reports. Query it if the poll did not."""
        assert self._observed is not None, "the planner exists"
        assert self._state is not None, "the tables are known"
        end = planned.end or self._server.position(self._state)
        starts_now = is_first and self.options[opt.STARTUP_MODE] in ("initial", "latest")
        self._observed = self._observed.and_end(planned.progress, end, self._server.file_sizes, starts_now=starts_now)

    def acknowledge(self, planned: Sequence[Split], unread: Sequence[Split], cursor: PollCursor) -> None:
        """Record the log position from which the oldest retained checkpoint resumes."""
        starts = [*map(start_of, unread), *([position_of(stored.text(cursor, "log"))] if cursor else [])]
        self._oldest = min(starts, default=None) if self._is_here(cursor.get("server")) else None

    def _look(self) -> tuple[Found, ...]:
        """Return the captured tables, sorted by name. The result is cached."""
        if not self._tables:
            self._tables = self._found()
        return self._tables

    def _found(self) -> tuple[Found, ...]:
        """Query the state of the server and the captured tables."""
        state = self._server.require_capturable()
        if self._server.known is not None and self._server.known.identity != state.identity:
            raise self._server.replaced(state.identity)
        self._state, self._server = state, evolve(self._server, known=state)
        found = chosen_tables(self._server, self._databases, self.options, self._jdbc, self._emission.rules)
        self._server.require_logged(self._state, {path_of(each)[0] for each in found})
        self._emission.require_supported(found)
        return tuple(map(divisible, found))

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        assert self._state is not None
        if is_skipped(self._server, self._state, split.body, context):
            return
        if "chunk" in split.body:
            yield from self._read_chunk(split, context)
        else:
            yield from self._range_reader(split.body).batches(context)

    def _read_chunk(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        body = split.body
        if "reread" in body and body["table"] in self._former:
            yield from skipped_chunk(stored.number(body, "chunk"), context)
            return
        (found,) = named_tables([stored.text(body, "table")], self._tables)
        assert self._state is not None
        reader = ChunkReader.of(self._server, self._state, found, self._log_reader([found]), body)
        where = described(body)
        named = f"{self._server.dialect.address}, {where}"
        try:
            batches = self._emission.fitted(found, reader.rows(), stored.number(body, "chunk"), named, context)
            yield from self._emission.chunk(batches, found, read_at(path_of(found), reader.planned))
        except SourceError:
            raise
        except Exception as error:
            raise self._server.failed(f"{where} cannot be read", error) from error

    def _range_reader(self, body: Mapping[str, Any]) -> RangeReader:
        tables = named_tables(stored.texts(body, "tables"), self._tables)
        return RangeReader(
            server=self._server,
            tables={each.reading.name: each for each in tables},
            log=self._log_reader(tables),
            start=position_of(stored.text(body, "from")),
            end=position_of(stored.text(body, "to")),
            body=body,
            emission=self._emission,
            defined=self._defined,
        )

    def _log_reader(self, tables: Sequence[Found]) -> LogReader:
        assert self._state is not None
        zero_is_null = self._server.dialect.session().zero_is_null
        rules = ValueRules(zone=self._zone, zero_is_null=zero_is_null, json_of_5_7=self._state.is_5_7)
        captured = Definitions(tables, self._emission.rules, logs_names=self._state.logs_names)
        return LogReader(server=self._server, tables=captured, rules=rules)

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        return [described(split.body) for split in splits]


class MariaDBCdcSource(MySQLCdcSource):
    """The ``MySQL-CDC`` source for MariaDB."""

    identifier: ClassVar[str] = "MariaDB-CDC"
    connector: ClassVar[str] = "mariadb"
