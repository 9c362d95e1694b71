"""Start of a job: the log position, whether a snapshot of the tables is read first, and checks of column changes."""

from collections.abc import Callable, Sequence
from functools import partial

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.column_rules import path_of
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc import options as opt
from seatunnel_core.connectors.mysql_cdc.changed_columns import defined_tables
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions, keeps_columns
from seatunnel_core.connectors.mysql_cdc.log_reader import Distributed, LogReader
from seatunnel_core.connectors.mysql_cdc.log_stream import begun_s
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.range_reader import milliseconds
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded, same_tables
from seatunnel_core.connectors.mysql_cdc.retention import Retention
from seatunnel_core.connectors.mysql_cdc.server import Marking, Server, ServerState
from seatunnel_core.connectors.mysql_cdc.table_checks import cascades
from seatunnel_core.connectors.mysql_cdc.times import first_file
from seatunnel_core.connectors.mysql_log.change_batch import Outcome
from seatunnel_core.connectors.mysql_log.events import QueryEvent
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import without_strings
from seatunnel_core.connectors.mysql_log.table_map import TableMap

_LOCKS = (
    "the server has no GTIDs, so each chunk of a table is read with LOCK IN SHARE MODE, and writers of these rows "
    "wait until the chunk has been read. Set gtid_mode = ON to read without locks"
)


def start_warnings(options: Options, server: Server, state: ServerState, tables: Sequence[Found]) -> list[str]:
    """Return the warnings for a starting job, for example about locks on chunks of its tables."""
    locks = options[opt.STARTUP_MODE] == "initial" and state.marking is Marking.LOCKS
    shown = [cascades(server, [path_of(each) for each in tables]), Retention.of(state.settings).warning()]
    return [*([_LOCKS] if locks else []), *(each for each in shown if each is not None)]


def first_progress(
    options: Options,
    server: Server,
    state: ServerState,
    planned: tuple[Found, ...],
    tables: Callable[[], tuple[Found, ...]],
) -> Progress:
    """Return the progress at the start of a job.

    The log from its current end on has rows with the planned columns, up to a statement that changes them.

    Args:
        options: Options of the source.
        server: The server.
        state: State of the server.
        planned: Tables for which the job was planned.
        tables: Queries the tables.

    Raises:
        SourceChangedError: A table was removed, or its columns or key were changed, since the job was planned or after
            rows in the log from its start on.
        SourceError: The log cannot be read.
    """
    found, end = defined_tables(server, state, tables, planned)
    same_tables(recorded(planned, logs_names=state.logs_names), found, logs_names=state.logs_names)
    mode = options[opt.STARTUP_MODE]
    if mode == "specific":
        log = LogPosition(options[opt.STARTUP_FILE], options[opt.STARTUP_POS])
    elif mode == "timestamp":
        files = server.files()
        if not server.is_replica(state):
            files = [first_file(files, options[opt.STARTUP_TIMESTAMP], partial(begun_s, server))]
        log = first_since(server, planned, LogPosition(files[0], 4), end, options[opt.STARTUP_TIMESTAMP])
    elif mode == "earliest":
        log = LogPosition(server.files()[0], 4)
    else:
        log = end
    stop = None
    if options[opt.STOP_MODE] == "specific":
        stop = LogPosition(options[opt.STOP_FILE], options[opt.STOP_POS])
    start = ChunkStart() if mode == "initial" else None
    if mode in ("specific", "timestamp", "earliest"):
        require_readable(server, planned, log, end)
    return Progress(
        server=state.identity,
        log=log,
        start=start,
        stop=stop,
        since_ms=options[opt.STARTUP_TIMESTAMP],
        until_ms=options[opt.STOP_TIMESTAMP],
    )


def require_readable(server: Server, tables: Sequence[Found], start: LogPosition, end: LogPosition) -> None:
    """Check that no row without column names precedes a change of the columns of its table.

    The values of such a row would be assigned to the current columns by position.

    Args:
        server: The server.
        tables: The captured tables with their current columns.
        start: Start of the job.
        end: Position at which the tables have these columns.

    Raises:
        SourceChangedError: A row may have other columns.
        SourceError: The log cannot be read.
    """
    if start >= end:
        return
    seen = _UnnamedColumns(tables)
    for batch in LogReader(server=server, tables=seen).batches(start, end):
        statement = batch.statement
        if statement is None or statement.transaction.begin >= end or keeps_columns(statement.text):
            continue
        for table in seen.names.intersection(seen.changes(statement)):
            raise SourceChangedError(
                f"the statement at {statement.transaction.begin} may change columns of {table}: "
                f"{without_strings(statement.text)!r}. The log contains earlier rows of the table without "
                f"column names, whose values may belong to other columns. Start the job at {batch.position} or later "
                "(startup.mode = specific)"
            )


def first_since(
    server: Server, tables: Sequence[Found], start: LogPosition, end: LogPosition, since_ms: int
) -> LogPosition:
    """Return the position of the first transaction at or after a time; ``end`` if there is none.

    Earlier rows are not read, so they may have other columns. If a distributed transaction is prepared before the time
    and ends later, return ``start``, because only a reader of its rows can determine whether it concerns the job.

    Args:
        server: The server.
        tables: The captured tables.
        start: Start of the search.
        end: End of the search.
        since_ms: The time, in milliseconds since 1970.

    Raises:
        SourceError: The log cannot be read.
    """
    if start >= end:
        return end
    prepared = set[str]()
    reader, distributed = LogReader(server=server, tables=_UnnamedColumns(tables)), Distributed(is_checked=True)
    for batch in reader.batches(start, end, distributed=distributed):
        for each in batch.transactions:
            if each.begin >= end or milliseconds(each) >= since_ms:
                return start if prepared else min(end, each.begin)
            if each.outcome is Outcome.PREPARED:
                prepared.add(str(each.xa))
            elif each.outcome in (Outcome.XA_COMMITTED, Outcome.XA_ROLLED_BACK):
                prepared.discard(str(each.xa))
    return start if prepared else end


class _UnnamedColumns(Definitions):
    """Captured tables of which the log contains rows without column names. The rows are not read."""

    def __init__(self, tables: Sequence[Found]) -> None:
        super().__init__(tables)
        self.names = set[str]()

    def reads(self, table: TableMap) -> bool:
        if any(column.name is None for column in table.columns):
            self.names.add(f"{table.database}.{table.table}")
        return False

    def may_change_rows(self, statement: QueryEvent) -> bool:
        return False
