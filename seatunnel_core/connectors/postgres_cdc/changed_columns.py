"""Changes of columns of captured tables: the end of the job before them, and its continuation with the new columns."""

from collections.abc import Sequence

from attrs import evolve

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.shape import CONTINUE, START_ANEW
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.tables import Captured


def with_present_columns(state: Capture, tables: Sequence[Captured], *, emits_rows: bool) -> Capture:
    """Return the state of a resumed job, which reads the log with the columns that the tables have now.

    Rows of other columns in the log stop the job again.

    Args:
        state: The restored state.
        tables: The tables as they are, in the order of the state.
        emits_rows: True if the job emits rows, and not messages.

    Raises:
        SourceChangedError: The columns of a table have changed, and the snapshot is not read completely, or the job
            emits messages.
    """
    for table, (_, shape) in zip(tables, state.tables, strict=True):
        if not table.has_masks(shape):
            raise SourceChangedError(
                f"the masks, or the filter of {table.name}, have changed since the job started; restore them, or start "
                "a new job"
            )
    changed = [table.name for table, (_, shape) in zip(tables, state.tables, strict=True) if not table.has_shape(shape)]
    if changed and (state.chunks.table < len(tables) or state.waiting or state.marks or not state.log):
        raise SourceChangedError(
            f"the columns of {', '.join(changed)} have changed while the tables were being copied, so the copied rows "
            "lack values. Start a new job"
        )
    if changed and not emits_rows:
        names = ", ".join(changed)
        raise SourceChangedError(f"the columns of {names} have changed since the job started. {START_ANEW}")
    return evolve(state, tables=tuple((table.name, table.shape) for table in tables))


def require_resumable(state: Capture, tables: Sequence[Captured]) -> None:
    """Raise ``SourceChangedError`` if a table does not have the columns of the change at which the job stopped."""
    change = state.changed
    if change is not None and any(table.name == change.table and table.shape == change.shape for table in tables):
        raise SourceChangedError(
            f"{change.message}: the table no longer has these columns, because it was changed again, or before the job "
            "had read all earlier changes. Start a new job"
        )


def checked_change(state: Capture, tables: Sequence[Captured]) -> Capture:
    """Return the state after reading stopped before a change of columns, for the next poll.

    The first poll returns the change to the engine, so that it is in the last checkpoint; the second one raises it.

    Args:
        state: The state, with a change.
        tables: The tables as they are now.

    Raises:
        ColumnsChangedError: The job stops, and can be resumed.
        SourceChangedError: The table no longer has the columns of the next rows, so these cannot be read.
    """
    change = state.changed
    assert change is not None, "reading has stopped"
    if change.shape != dict(state.tables)[change.table]:  # an earlier process stopped; this one has the new columns
        return evolve(state, changed=None)
    if change.is_reported:
        raise ColumnsChangedError(f"{change.message}. {CONTINUE}")
    require_resumable(state, tables)
    return evolve(state, changed=evolve(change, is_reported=True))
