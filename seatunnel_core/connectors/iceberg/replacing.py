"""Replace the rows of a table when the last row of a run has come: until then they are collected in a branch of it.

::

    seatunnel-<job>-p<pipeline>-s<sink>     the branch; in the end it is at the snapshot that replaced the rows

So each commit of the run is one of the branch, which no reader of ``main`` sees. The branch is removed when the job has
ended, and no expiry of snapshots can make it forgotten before that the replacement took place.
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
"""How long the branch of an ended job stays at most, where the process was killed before it removed it."""


def branch_of(context: SinkContext) -> str:
    """Return the name of the branch in which a sink collects rows."""
    return f"{_prefix(context)}{context.pipeline_id}-s{context.sink_ordinal}"


def _prefix(context: SinkContext) -> str:
    return f"seatunnel-{context.job_id}-p"


@frozen(kw_only=True)
class Replacing:
    """The branch of one table of a sink."""

    target: TargetTable
    """The table, with the branch."""

    partitions: tuple[str, ...]
    """Only rows with values of these columns that come are replaced; empty: all."""

    # -- before the first row -------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Create the branch if it is not there.

        Raises:
            SinkError: Another sink of the job replaces the table, or the branch was removed although it had rows.
            CommitError: A newer engine has committed.
        """
        self._repeat(self._collect)

    def _collect(self) -> None:
        table, context = self._found(), self.target.context
        branches = [name for name in table.metadata.refs if name.startswith(_prefix(context))]
        if self.target.branch in branches:
            return
        if branches:
            raise SinkError(f"{self.target.who}: {shared_target(self.target.named, also=' too')}")
        if history.committed_ids(table, context):
            self.target.require()  # it says that the branch is gone
        summary = history.identity(context)
        if not table.metadata.snapshots:  # pyiceberg begins no other branch before main
            add_nothing(table, MAIN, summary)
            table = self._found()
        add_nothing(table, self.target.branch, summary)

    def _found(self) -> "Table":
        table = self.target.found()
        if table is None:
            raise SinkError(f"{self.target.who}: the table {self.target.named} is gone: somebody dropped or renamed it")
        self.target.refuse_replaced(table)
        return table

    # -- after the last one ---------------------------------------------------------------------------------------

    def replace(self) -> None:
        """Put the files of the branch in the place of those of ``main`` in one commit; do nothing when done.

        Raises:
            CommitError: A newer engine has committed, the branch is gone, or the partitions have changed.
        """
        table = self.target.found()
        if table is not None and self.target.branch not in table.metadata.refs:
            if not history.committed_ids(table, self.target.context):
                return  # no row was ever to come into this table
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
                f"{self.target.who}: rows of {self.target.named} were divided by its partition spec "
                f"{moved[0].spec_id}, and now it has {table.spec().spec_id} ({table.spec()}): give the table its "
                "former partitions back"
            )
        gone = self._replaced(table, new, old) if self.partitions else old
        _commit(table, self.target.branch, new, gone, history.replaced(self.target.context), whole=not self.partitions)

    def _replaced(self, table: "Table", new: "Sequence[DataFile]", old: "Sequence[DataFile]") -> "list[DataFile]":
        """Return the old files of the partitions into which new files come."""
        specs = table.specs()
        places = {
            number: positions_of(self.partitions, specs[number], table.schema(), self.target.named)
            for number in {file.spec_id for file in (*new, *old)}
        }
        coming = {_values(file, places[file.spec_id]) for file in new}
        return [file for file in old if _values(file, places[file.spec_id]) in coming]

    def forget(self) -> None:
        """Remove the branch, if it is there."""
        self._repeat(self._forget)

    def _forget(self) -> None:
        table = self.target.found()
        if table is not None and self.target.branch in table.metadata.refs:
            table.manage_snapshots().remove_branch(self.target.branch).commit()

    def _repeat(self, commit: Callable[[], None]) -> None:
        """Commit, and do so again when other writers of the table have come first."""
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
    """Commit that files come to ``main`` and others go, and set the branch to that snapshot."""
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
    # pyiceberg keeps one requirement of each kind, that of main, and a newer engine may have added rows to the branch.
    transaction._requirements += (AssertRefSnapshotId(ref=branch, snapshot_id=head),)
    transaction.commit_transaction()


def _values(file: "DataFile", places: Sequence[int]) -> tuple[Any, ...]:
    values = comparable(file.partition)
    return tuple(values[place] for place in places)
