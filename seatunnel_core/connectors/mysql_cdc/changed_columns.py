"""Handling of columns that were changed after the cursor of a resumed job was stored."""

from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules, path_of
from seatunnel_core.connectors.change_data.rereading import restarted
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.altered_types import AlteredTypes, sets_charset
from seatunnel_core.connectors.mysql_cdc.definitions import Definitions, only_changes_columns
from seatunnel_core.connectors.mysql_cdc.log_reader import Distributed, LogReader
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import changed_columns, recorded, with_recorded_columns
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.captured_tables import Tables
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.events import QueryEvent
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import without_strings


def defined_tables(
    server: Server,
    state: ServerState,
    tables: Callable[[], tuple[Found, ...]],
    known: tuple[Found, ...] | None = None,
) -> tuple[tuple[Found, ...], LogPosition]:
    """Return the current tables, and a log position at which the server had exactly these tables.

    Args:
        server: The server.
        state: State of the server.
        tables: Queries the tables.
        known: Tables that were queried before, which are then queried only once more; ``None`` if there are none.
    """
    before = tables() if known is None else known
    while True:
        end = server.position(state)
        for table in before:  # this waits for a statement that is logged, but not visible yet
            server.ask(f"SELECT 1 FROM {server.dialect.quoted(*path_of(table))} LIMIT 0")
        after = tables()
        if recorded(after) == recorded(before):
            return after, end
        before = after


@frozen
class ResumedColumns:
    """Tables and columns with which a resumed job reads the log."""

    tables: list[Found] = field(repr=False)
    record: bytes = field(repr=False)
    """Record of the tables, to be stored in the cursor."""

    defined: LogPosition
    """Log position up to which column changes are already applied to the tables."""

    changed: Collection[str]
    """Tables with columns that differ from the recorded ones."""

    former: Collection[str]
    """Tables with their recorded columns. They can only be used to read the log."""

    def applied(self, progress: Progress) -> Progress:
        """Return the progress with which the resumed job continues after the column change at which it had stopped."""
        if progress.is_reported:
            progress = evolve(progress, stopped="", changed=(), statement="", is_reported=False)
        return evolve(progress, defined=self.defined, rereads=restarted(progress.rereads, self.changed))


def resumed_columns(
    server: Server,
    tables: Sequence[Found],
    progress: Progress,
    record: bytes,
    end: LogPosition,
    rules: ColumnRules = EVERY_COLUMN,
    *,
    logs_names: bool = False,
) -> ResumedColumns:
    """Return the columns with which a resumed job reads its tables.

    Args:
        server: The server.
        tables: The captured tables with their current columns.
        progress: The restored progress.
        record: Record of the tables in the restored cursor.
        end: Log position up to which column changes are applied to ``tables``.
        rules: Selected columns, masks and row filters.
        logs_names: True if the log contains column names.

    Raises:
        SourceChangedError: The log has rows with unknown columns, columns changed during the snapshot, or a column may
            have lost its mask, or be selected only because of its new name.
        SourceError: The log cannot be read.
    """
    changed = changed_columns(record, tables)
    if changed and progress.is_copying:
        raise SourceChangedError(
            f"the columns of {', '.join(changed)} changed while the tables were being copied, so the copied rows "
            "lack values. Start a new job"
        )
    definitions = Definitions(tables, rules, logs_names=logs_names)
    if hidden := [table for table in changed if not definitions.describes(table)]:
        raise SourceChangedError(
            f"the columns of {', '.join(hidden)} have changed since the job started. Some of them are not selected, "
            "and the log does not contain the names of columns; run SET GLOBAL binlog_row_metadata = 'FULL' on the "
            "server, and start a new job"
        )
    recorded_ones = {each.reading.name: with_recorded_columns(record, each) for each in tables}
    types = {name: AlteredTypes.of(each.columns) for name, each in recorded_ones.items()}
    former, defined = former_tables(server, definitions, progress, changed, types, end)
    found = [recorded_ones[each.reading.name] if each.reading.name in former else each for each in tables]
    for each in found:
        name, before = each.reading.name, [column.name for column in recorded_ones[each.reading.name].columns]
        rules.require_masks_kept(each, before, {} if name in former else types[name].renamed(each.columns, before))
    return ResumedColumns(found, recorded(found, rules, logs_names=logs_names), defined, changed, former)


def former_tables(
    server: Server,
    definitions: Definitions,
    progress: Progress,
    changed: Collection[str],
    types: Mapping[str, AlteredTypes],
    end: LogPosition,
) -> tuple[Collection[str], LogPosition]:
    """Return the tables with logged rows before their first column change, and the position of the first such change.

    The job reads these tables with their recorded columns and stops at the change. Without such tables, the position is
    ``end``. A later statement that repeats the current types, such as MODIFY with NOT NULL, is not a change.

    Args:
        server: The server.
        definitions: The captured tables with their current columns.
        progress: The restored progress.
        changed: Tables with columns that differ from the recorded ones.
        types: Recorded column types and names by table; updated by this call.
        end: Position up to which the log is searched.

    Raises:
        SourceChangedError: The log has rows of a table between two column changes, or has no statement that explains
            the changed columns.
        SourceError: The log cannot be read.
    """
    seen = _SeenTables(definitions)
    altered, former, first = set(progress.changed), set[str](), end
    for table in progress.changed:
        types[table].alter(progress.statement)
    reader = LogReader(server=server, tables=seen)
    for batch in reader.batches(progress.log, end, distributed=Distributed(set(progress.prepared))):
        statement = batch.statement
        if statement is None or statement.transaction.begin >= end:
            continue
        if sets_charset(statement.text):
            for each in types.values():
                each.forget_texts()
        begin, is_of_columns = statement.transaction.begin, only_changes_columns(statement.text)
        for table in definitions.changes(statement) if is_of_columns else ():
            if table in seen.names and table in altered and not types[table].keeps(statement.text):
                raise SourceChangedError(
                    f"the log contains changed rows of {table} with columns that the table no longer has, because "
                    f"the statement {without_strings(statement.text)!r} at {begin} changes the columns again: the "
                    "rows cannot be read. Start a new job"
                )
            if table in seen.names and table not in altered:
                former.add(table)
                first = min(first, begin)
                seen.names.discard(table)
            altered.add(table)
            types[table].alter(statement.text)
    if unexplained := sorted(set(changed) - altered):
        raise SourceChangedError(
            f"the columns of {', '.join(unexplained)} have changed since the job started, but the log "
            f"contains no statement from {progress.log} onwards that changes them. Start a new job"
        )
    return former, first


@frozen
class _SeenTables(Tables):
    """Table selection that records the names of captured tables with logged rows, without reading the rows."""

    _definitions: Definitions
    names: set[str] = field(factory=set, init=False)

    def columns(self, database: str, table: str) -> Sequence[DeclaredColumn] | None:
        if self._definitions.columns(database, table) is not None:
            self.names.add(f"{database}.{table}")
        return None

    def selects(self, database: str, table: str) -> Callable[[str], bool] | None:
        return None

    def may_change_rows(self, statement: QueryEvent) -> bool:
        return False

    def concerned_by(self, statement: QueryEvent) -> bool:
        return self._definitions.concerned_by(statement) or sets_charset(statement.text)
