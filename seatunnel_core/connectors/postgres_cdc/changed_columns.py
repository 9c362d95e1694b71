"""Column changes of captured tables: the job stops before a change and can be resumed with the new columns."""

from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import evolve

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.chunks import require_split_column
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.change_data.rereading import restarted
from seatunnel_core.connectors.change_data.shape import CONTINUE, START_ANEW
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import TableName

Search = Callable[[Lsn, Collection[TableName]], Mapping[TableName, LogTable]]
"""Function that searches the log from a position for the first rows of tables, and returns their columns there."""


def resumed_tables(
    state: Capture, tables: Sequence[Captured], schemas: Sequence[TableSchema], rules: ColumnRules, search: Search
) -> tuple[Captured, ...]:
    """Return the tables of a resumed job with the columns of their next rows in the log.

    If the log contains rows from before a change, these are the former columns, and the job stops at the change. A
    table that has no further rows in the log has its current columns.

    Args:
        state: The restored state.
        tables: The current tables, in the order of the state.
        schemas: The schemas when the job started.
        rules: Selected columns, masks and row filters.
        search: Function that searches the log. It is called only if the logged columns of a table may differ from its
            current ones.

    Raises:
        SourceChangedError: A transaction has rows with former and new columns, or a column may have lost its mask, or
            be selected only because of its new name.
    """
    former, change = dict(state.tables), state.changed
    stopped = "" if change is None else change.table
    changed = [each for each in tables if each.name == stopped or each.columns != former[each.name].partition("-")[0]]
    if not changed or is_copying(state, len(tables)):
        return tuple(tables)
    logged = search(Lsn.parse(state.log), {each.path for each in changed})
    found = tuple(each.as_logged(logged[each.path], rules) if each.path in logged else each for each in tables)
    if change is not None and any(each.name == stopped and each.has_shape(change.shape) for each in found):
        raise SourceChangedError(
            f"{change.message}: the same transaction also contains rows with the former columns, or the log no "
            "longer contains the rows with the new columns. Start a new job"
        )
    names = {each.table: each.columns.names for each in schemas}
    for each in found:
        if not each.has_shape(former[each.name]):
            rules.require_masks_kept(each.found, names.get(each.name, ()))
            if not each.is_readable:
                _require_protected_in_log(state.protected.get(each.name, {}), each, logged[each.path], rules)
    return found


def is_copying(state: Capture, tables: int) -> bool:
    """Return True until the log has been read up to the marks of the last chunks."""
    return state.chunks.table < tables or bool(state.waiting or state.marks) or not state.log


def require_split_columns(state: Capture, tables: Sequence[Captured]) -> None:
    """Check that the bounds of the snapshot's chunks still apply to the split columns of their tables.

    ``tables`` are the current tables, in the order of the state.

    Raises:
        SourceChangedError: A table has another split column.
    """
    for index, column in state.split_columns.items():
        require_split_column(tables[index].found, column)


def require_protected(state: Capture, tables: Sequence[Captured], rules: ColumnRules) -> None:
    """Check that no renamed column lost its mask, or is selected only because of its new name.

    ``tables`` are the current tables, in the order of the state.

    Raises:
        SourceChangedError: A masked or unselected column was renamed.
    """
    for each in tables:
        known = state.protected.get(each.name, {})
        renamed = {now: known[number] for number, now in each.numbers.items() if known.get(number, now) != now}
        rules.require_masks_kept(each.found, (), renamed)


def _require_protected_in_log(
    protected: Mapping[int, str], table: Captured, logged: LogTable, rules: ColumnRules
) -> None:
    """Check the names of a table's columns in the log, which are neither the recorded nor the current ones.

    The log does not contain the numbers of columns. A name that no longer exists may be that of any former column.

    Raises:
        SourceChangedError: A masked or unselected column may have another name in the log.
    """
    names, now = [each.name for each in logged.columns], table.numbers
    protected = {number: name for number, name in protected.items() if rules.protection(table.path, name)}
    lost = [name for number, name in protected.items() if name not in names and now.get(number) not in names]
    unknown = [each for each in names if each not in now.values() and not rules.protection(table.path, each)]
    is_swapped = [each for each in names if each in now.values()] != [each for each in now.values() if each in names]
    if (lost and unknown) or (protected and is_swapped):
        name = (*lost, *protected.values())[0]
        raise SourceChangedError(
            f"columns of {table.name} were renamed several times since the job started, and the log contains rows in "
            f"which the values of {name}, which {rules.protection(table.path, name)}, may have another name: "
            f"{', '.join(names)}. Start a new job"
        )


def protected_columns(state: Capture | None, tables: Sequence[Captured]) -> Mapping[str, Mapping[int, str]]:
    """Return the masked and unselected columns by table, for the state; tables without such columns are omitted.

    The columns of a table whose former columns are still read do not change.
    """
    known = {} if state is None else state.protected
    found = {each.name: each.protected if each.is_readable else known.get(each.name, {}) for each in tables}
    return {table: columns for table, columns in found.items() if columns}


def with_columns(state: Capture, tables: Sequence[Captured], *, emits_rows: bool) -> Capture:
    """Return the state of a resumed job with the columns of its next rows in the log.

    Args:
        state: The restored state.
        tables: The tables with these columns, in the order of the state.
        emits_rows: True if the job emits rows; False if it emits messages.

    Raises:
        SourceChangedError: The columns of a table changed during the snapshot, or the job emits messages.
    """
    for table, (_, shape) in zip(tables, state.tables, strict=True):
        if not table.has_masks(shape):
            raise SourceChangedError(
                f"the masks or the filter of {table.name} have changed since the job started; restore them, or start "
                "a new job"
            )
    changed = [table.name for table, (_, shape) in zip(tables, state.tables, strict=True) if not table.has_shape(shape)]
    if changed and is_copying(state, len(tables)):
        raise SourceChangedError(
            f"the columns of {', '.join(changed)} changed while the tables were being copied, so the copied rows "
            "lack values. Start a new job"
        )
    if changed and not emits_rows:
        names = ", ".join(changed)
        raise SourceChangedError(f"the columns of {names} have changed since the job started. {START_ANEW}")
    rereads = restarted(state.rereads, changed)
    shapes = tuple((table.name, table.shape) for table in tables)
    return evolve(state, tables=shapes, protected=protected_columns(state, tables), rereads=rereads)


def checked_change(state: Capture) -> Capture:
    """Return the state for the next poll after reading stopped before a column change.

    The first poll returns the change to the engine, which stores it in the final checkpoint. The second poll raises it.

    Raises:
        ColumnsChangedError: The job stops and can be resumed.
    """
    change = state.changed
    assert change is not None, "reading has stopped"
    if change.shape != dict(state.tables)[change.table]:  # an earlier process stopped; this one has the new columns
        return evolve(state, changed=None)
    if change.is_reported:
        raise ColumnsChangedError(f"{change.message}. {CONTINUE}")
    return evolve(state, changed=evolve(change, is_reported=True))
