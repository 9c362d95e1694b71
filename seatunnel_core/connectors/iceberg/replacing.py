"""Replacement of the rows of a table at the end of a run. Until then, new rows are collected on a branch.

::

    seatunnel-<job>-p<pipeline>-s<sink>     the branch; in the end, it refers to the snapshot that replaced the rows

Each commit of the run goes to the branch, which readers of ``main`` do not see. The branch is removed after the job has
ended. Until then, it protects the record of the replacement from snapshot expiry.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg.partitions import comparable, positions_of
from seatunnel_core.connectors.iceberg.table import MAIN, TRIES, TargetTable, add_nothing
from seatunnel_core.connectors.tables.messages import shared_target

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

_KEPT_MS = 5 * 24 * 3_600_000
"""Maximum age of the branch of an ended job, in milliseconds, in case a killed process did not remove it."""


def branch_of(context: SinkContext) -> str:
    """Return the name of the branch on which a sink collects rows."""
    return f"{_prefix(context)}{context.pipeline_id}-s{context.sink_ordinal}"


def _prefix(context: SinkContext) -> str:
    return f"seatunnel-{context.job_id}-p"


@frozen(kw_only=True)
class Replacing:
    """The branch of one table of a sink."""

    target: TargetTable
    """Table whose new rows are committed to the branch."""

    partitions: tuple[str, ...]
    """Columns that select the rows to replace: those with the values of a new row. If empty, all rows are replaced."""

    def collect(self) -> None:
        """Create the branch if it does not exist; raise ``SinkError`` if it had rows and was removed."""
        self._repeat(self._collect)

    def _collect(self) -> None:
        table, context = self._found(), self.target.context
        branches = [name for name in table.metadata.refs if name.startswith(_prefix(context))]
        if self.target.branch in branches:
            return
        if branches:
            raise SinkError(f"{self.target.who}: {shared_target(self.target.named, also=' too')}")
        if history.committed_ids(table, context):
            self.target.require()  # reports that the branch no longer exists
        summary = history.identity(context)
        if not table.metadata.snapshots:  # pyiceberg cannot create another branch before main
            add_nothing(table, MAIN, summary)
            table = self._found()
        add_nothing(table, self.target.branch, summary)

    def _found(self) -> "Table":
        table = self.target.found()
        if table is None:
            raise SinkError(
                f"{self.target.who}: the table {self.target.named} no longer exists: it was dropped or renamed"
            )
        self.target.refuse_replaced(table)
        return table

    def replace(self) -> None:
        """Replace the files of ``main`` with the files of the branch in one commit, unless this is already done."""
        table = self.target.found()
        if table is not None and self.target.branch not in table.metadata.refs:
            if not history.committed_ids(table, self.target.context):
                return  # the run has no rows for this table
            self.target.require()
        if table is not None:
            self._repeat(self._replace)

    def _replace(self) -> None:
        table = self.target.require()
        if history.has_replaced(table, self.target.context):
            return
        new, old = history.live_files(table, self.target.branch), history.live_files(table, MAIN)
        moved = [file for file in new if file.spec_id != table.spec().spec_id]
        if moved:
            raise CommitError(
                f"{self.target.who}: rows of {self.target.named} were partitioned by spec "
                f"{moved[0].spec_id}, but the current spec is {table.spec().spec_id} ({table.spec()}): restore the "
                "table's former partitioning"
            )
        gone = self._replaced(table, new, old) if self.partitions else old
        _commit(table, self.target.branch, new, gone, history.replaced(self.target.context), whole=not self.partitions)

    def _replaced(self, table: "Table", new: "Sequence[DataFile]", old: "Sequence[DataFile]") -> "list[DataFile]":
        """Return the old files of the partitions that receive new files."""
        specs = table.specs()
        places = {
            number: positions_of(self.partitions, specs[number], table.schema(), self.target.named)
            for number in {file.spec_id for file in (*new, *old)}
        }
        coming = {_values(file, places[file.spec_id]) for file in new}
        return [file for file in old if _values(file, places[file.spec_id]) in coming]

    def forget(self) -> None:
        """Remove the branch, if it exists."""
        self._repeat(self._forget)

    def _forget(self) -> None:
        table = self.target.found()
        if table is not None and self.target.branch in table.metadata.refs:
            table.manage_snapshots().remove_branch(self.target.branch).commit()

    def _repeat(self, commit: Callable[[], None]) -> None:
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(TRIES):
            try:
                commit()
            except CommitFailedException:
                continue
            return
        raise self.target.too_many_others(SinkError)


def _commit(
    table: "Table",
    branch: str,
    new: "Sequence[DataFile]",
    gone: "Sequence[DataFile]",
    summary: dict[str, str],
    *,
    whole: bool,
) -> None:
    """Commit the addition and removal of files to ``main``, and set the branch to the resulting snapshot."""
    from pyiceberg.table.update import AssertRefSnapshotId
    from pyiceberg.table.update.snapshot import ManageSnapshots

    from seatunnel_core.connectors.iceberg.snapshots import Replacement

    head = table.metadata.refs[branch].snapshot_id
    transaction = table.transaction()
    with Replacement.of(transaction, summary, whole=whole) as replacement:
        for file in gone:
            replacement.delete_data_file(file)
        for file in new:
            replacement.append_data_file(file)
    ManageSnapshots(transaction).create_branch(replacement.snapshot_id, branch, max_ref_age_ms=_KEPT_MS).commit()
    # pyiceberg keeps one requirement of each kind, here for main. A newer engine may have committed to the branch.
    transaction._requirements += (AssertRefSnapshotId(ref=branch, snapshot_id=head),)
    transaction.commit_transaction()


def _values(file: "DataFile", places: Sequence[int]) -> tuple[Any, ...]:
    values = comparable(file.partition)
    return tuple(values[place] for place in places)
