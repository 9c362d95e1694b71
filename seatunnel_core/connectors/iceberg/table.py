"""One table of a sink ``Iceberg``, in the driver: commits, sweeps of staged files, and rollback."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Retraction
from seatunnel_core.connectors.filesystems.staged_name import committable_id
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg.catalog import without_retries
from seatunnel_core.connectors.iceberg.merging import (
    by_unit,
    deleting_files,
    refuse_added_columns,
    refuse_clashing,
    refuse_other_specs,
    refuse_split_keys,
)
from seatunnel_core.connectors.iceberg.partitions import record
from seatunnel_core.connectors.iceberg.staged_tables import StagedFiles
from seatunnel_core.connectors.iceberg.staging import (
    data_folder,
    epoch_folder,
    files_of,
    job_folder,
    opened,
    own_file,
)
from seatunnel_core.connectors.iceberg.table_ids import TableId
from seatunnel_core.connectors.staging.lost_table import gone, require_same_table
from seatunnel_core.connectors.tables.messages import committed_before, not_empty, taken_over

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table, Transaction

TRIES = 10
"""Maximum number of attempts to commit while other writers of the table commit first."""

MAIN = "main"
"""Branch that readers see by default."""

_PARTITION = 3
"""Index of the partition in pyiceberg's ``DataFile``."""


@frozen(kw_only=True)
class TargetTable:
    """A table with a given name, which need not exist. Each method loads the table's current state."""

    id: TableId
    context: SinkContext
    catalog: "Callable[[], Catalog]" = field(repr=False)
    branch: str = MAIN
    """Branch for committed rows. It must exist, unless it is ``main``."""

    @property
    def named(self) -> str:
        """Name of the table in messages."""
        return ".".join(self.id)

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return f"pipeline {self.context.pipeline_id}, sink Iceberg"

    def found(self) -> "Table | None":
        """Return the current table, with pyiceberg's commit retries disabled; ``None`` if it does not exist."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self.catalog().load_table(self.id)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        properties = without_retries(table.metadata.properties)
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def require_same(self, table: "Table | None", kind: type[SinkError] = SinkError) -> None:
        """Raise ``kind`` if rows were published to the table, but it is missing or was replaced by another table."""
        identity = None if table is None else history.identity_of(table)
        is_known = self.context.published_to.get(self.named, identity) == identity
        if table is not None and not is_known and history.committed_ids(table, self.context):
            return
        require_same_table(self.context, self.who, self.named, identity, kind)

    def rows(self) -> int:
        """Return the number of rows in the table; 0 if it does not exist or the number is unknown, as after a merge."""
        table = self.found()
        snapshot = None if table is None else table.current_snapshot()
        summary = None if snapshot is None else snapshot.summary
        if summary is None or summary["total-delete-files"] not in (None, "0"):
            return 0
        return int(summary["total-records"] or 0)

    def require(self) -> "Table":
        """Return the current table, after checking that no newer engine has committed to it."""
        table = self.found()
        if table is None:
            raise CommitError(gone(self.context, self.who, self.named))
        self.refuse_replaced(table)
        if self.branch != MAIN and self.branch not in table.metadata.refs:
            raise CommitError(
                f"{self.who}: another program removed the branch {self.branch} of the table {self.named}, which "
                "collected the rows of this job; start a new job"
            )
        return table

    def refuse_replaced(self, table: "Table") -> None:
        """Raise ``CommitError`` if a newer engine has committed to the table."""
        newest = history.newest_epoch(table, self.context)
        if newest > self.context.epoch:
            raise CommitError(taken_over(self.who, newest, self.context.epoch))

    def apply_save_modes(self, data: str, schema: str) -> None:
        """According to the two options, empty or drop the table, or raise ``SinkError`` if it has rows."""
        table = self.found()
        if table is None:
            return
        self.refuse_replaced(table)
        own = f"{job_folder(table, self.context.job_id)}/"  # another pipeline of this job may write here, too
        every = history.live_files(table, MAIN)
        foreign = [file for file in every if not file.file_path.startswith(own)]
        if data == "ERROR_WHEN_DATA_EXISTS" and foreign:
            raise SinkError(f"{self.who}: {not_empty(self.named)}")
        if schema == "RECREATE_SCHEMA" and len(foreign) == len(every):
            self.catalog().drop_table(self.id)
        elif data == "DROP_DATA":
            _remove(table, foreign, history.identity(self.context))

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, staged: Sequence[StagedFiles], *, may_be_committed: bool) -> None:
        """Publish the unpublished committables in one commit.

        Raises:
            CommitError: A newer engine has committed, a file is missing, the partitions have changed, a column was
                added before a merge, or a committable has been published although ``may_be_committed`` is false.
        """
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(TRIES):
            table = self.require()
            self.require_same(table, CommitError)
            done = self._published(table, staged, may_be_committed=may_be_committed)
            if done and not may_be_committed:
                raise CommitError(committed_before(self.who, f"a snapshot of the table {self.named}", min(done)))
            rest = [each for each in staged if each.committable not in done]
            if not rest:
                return
            try:
                self._append(table, rest)
            except CommitFailedException:
                may_be_committed = True
            else:
                return
        raise self.too_many_others(CommitError)

    def _published(self, table: "Table", staged: Sequence[StagedFiles], *, may_be_committed: bool) -> set[str]:
        """Return the IDs of the committables that are published in the table.

        If snapshots were removed and ``may_be_committed`` is true, manifests are searched for the files.
        """
        after = min(_known_after(table, each) for each in staged)
        done = history.committed_ids(table, self.context, after) & {each.committable for each in staged}
        if may_be_committed and history.is_cut(table, after):
            named = history.named_files(table, self.context.job_id, after)
            done |= {each.committable for each in staged if named.issuperset(each.names)}
        return done

    def _append(self, table: "Table", staged: Sequence[StagedFiles]) -> None:
        self._refuse_moved(table, staged)
        from seatunnel_core.connectors.iceberg.snapshots import Chain

        transaction = Chain(table)
        for unit in by_unit(staged):
            self._add(table, transaction, unit)
        transaction.commit_transaction()

    def _refuse_moved(self, table: "Table", staged: Sequence[StagedFiles]) -> None:
        spec = table.spec()
        for key in {each.by for each in staged if each.by}:
            refuse_split_keys(table.spec(), table.schema(), key, self.named)
            refuse_other_specs(table, self.named)
        for each in (each for each in staged if each.by):
            refuse_added_columns(table, each, self.who, self.named)
        for each in staged:
            if each.spec != spec.spec_id and not (each.spec is None and spec.is_unpartitioned()):
                raise CommitError(
                    f"{self.who}: rows of {self.named} were partitioned by spec {each.spec}, but the "
                    f"current spec is {spec.spec_id} ({spec}): restore the table's former partitioning, resume this "
                    "job, and change the partitioning after the job has ended or was stopped"
                )

    def _add(self, table: "Table", transaction: "Transaction", staged: Sequence[StagedFiles]) -> None:
        counts: Counter[str] = Counter()
        for each in staged:
            counts[each.committable] += len(each.files)
        summary = history.identity(self.context, committed=counts)
        files = [file for each in staged for file in self._data_files(table, each)]
        if not staged[0].by:
            with transaction.update_snapshot(snapshot_properties=summary, branch=self.branch).fast_append() as append:
                for file in files:
                    append.append_data_file(file)
            return
        from seatunnel_core.connectors.iceberg.snapshots import RowDelta

        deleting = [file for each in staged for file in self._deleting_files(table, each)]
        refuse_clashing(table, staged, epoch_folder(table, self.context, staged[0].epoch), self.named)
        with RowDelta.of(transaction, summary) as delta:
            for file in files:
                delta.append_data_file(file)
            for file in deleting:
                delta.append_deleting_file(file)

    def _deleting_files(self, table: "Table", staged: StagedFiles) -> "list[DataFile]":
        try:
            return deleting_files(table, staged, epoch_folder(table, self.context, staged.epoch))
        except FileNotFoundError as error:
            raise self._gone(error) from error

    def _gone(self, error: FileNotFoundError) -> CommitError:
        return CommitError(
            f"{self.who}: a staged data file no longer exists ({error}), and no snapshot of {self.named} refers to it. "
            "Check that the table's location is shared with the tasks, and that no program removes orphan files"
        )

    def _data_files(self, table: "Table", staged: StagedFiles) -> "list[DataFile]":
        from pyiceberg.io.pyarrow import parquet_file_to_data_file
        from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC

        # pyiceberg would infer the partitions from the footers, which is not possible for all transforms.
        plain = table.metadata.model_copy(
            update={"partition_specs": [UNPARTITIONED_PARTITION_SPEC], "default_spec_id": 0}
        )
        folder = epoch_folder(table, self.context, staged.epoch)
        found = []
        for name, partition in staged.files:
            try:
                file = parquet_file_to_data_file(table.io, plain, f"{folder}/{name}")
            except FileNotFoundError as error:
                raise self._gone(error) from error
            file[_PARTITION] = record(partition, table.spec(), table.schema())
            file.spec_id = table.spec().spec_id
            found.append(file)
        return found

    # -- sweeping and rollback --------------------------------------------------------------------------------------

    def sweep(self, keep: frozenset[str], below: int) -> int:
        """Remove staged files from epochs before ``below`` that no checkpoint or snapshot needs; return the number."""
        table = self.found()
        if table is None:
            return 0
        self.require_same(table)  # a recreated table may have the location of the lost one
        files = [file for file in files_of(table, self.context) if file.epoch < below and file.committable not in keep]
        named = history.named_files(table, self.context.job_id) if files else set()
        dead = [file for file in files if file.name not in named]
        epoch = self.context.epoch
        if any(file.epoch < epoch for file in dead) and history.newest_epoch(table, self.context) < epoch:
            self._fence()
            named = history.named_files(self.require(), self.context.job_id)
            dead = [file for file in dead if file.name not in named]
        removed = 0
        for file in dead:
            removed += _delete(table, file.path)
        return removed

    def _fence(self) -> None:
        """Commit this epoch without files, so that an engine of an older epoch cannot commit swept files.

        The commit of an older engine then fails. That engine reloads the table, finds the newer epoch, and stops.
        """
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(TRIES):
            try:
                add_nothing(self.require(), self.branch, history.identity(self.context))
            except CommitFailedException:
                continue
            return
        raise self.too_many_others(SinkError)

    def retract(self, retraction: Retraction) -> int:
        """Remove the files of rolled-back committables from the table in one commit, and return their number."""
        table = self.found()
        if table is None:
            return 0
        self.require_same(table)
        self.refuse_replaced(table)

        def taken(committable: str) -> bool:
            source, epoch, unit = map(int, committable.split("-"))
            return retraction.takes(committable, source=source, epoch=epoch, unit=unit)

        def id_of(path: str) -> str:
            unit = own_file(path.rpartition("/")[2], self.context)
            return committable_id(unit) if unit is not None else ""

        files = history.live_files(table, MAIN, lambda path: id_of(path) != "" and taken(id_of(path)))
        there = Counter(id_of(file.file_path) for file in files)
        gone = history.retracted_ids(table, self.context)
        before = history.committed_files(table, self.context).items()
        rewritten = [each for each, count in before if each not in gone and taken(each) and there[each] < count]
        if rewritten:
            raise SinkError(
                f"{self.who}: the rows of {len(rewritten)} units are no longer in the files of the table "
                f"{self.named} in which they were published: another program rewrote or removed these files. Roll the "
                "table back to the snapshot before their publication, or continue with --accept-duplicates"
            )
        _remove(table, files, history.identity(self.context, retracted=sorted(there)))
        return len(files)

    def too_many_others(self, kind: type[SinkError]) -> SinkError:
        """Return the error for a commit whose attempts all failed because other writers committed first."""
        error = kind(
            f"{self.who}: {TRIES} commits to the table {self.named} failed, because another writer committed first "
            "each time"
        )
        error.retryable = True
        return error


def _known_after(table: "Table", staged: StagedFiles) -> int:
    """Return a sequence number up to which no snapshot of the table can refer to the files.

    It is 0 if the table was replaced by another table, or was restored to an older state with smaller numbers.
    """
    same = staged.uuid == str(table.metadata.table_uuid) and staged.after <= history.last_number(table)
    return staged.after if same else 0


def add_nothing(table: "Table", branch: str, summary: dict[str, str]) -> None:
    """Commit a snapshot without files to a branch; create the branch if it does not exist."""
    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties=summary, branch=branch).fast_append():
        pass
    transaction.commit_transaction()


def _remove(table: "Table", files: Sequence["DataFile"], summary: dict[str, str]) -> None:
    """Remove data files from the table in one commit. They are deleted when the snapshots that contain them expire."""
    if not files:
        return
    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties=summary).overwrite() as overwrite:
        for file in files:
            overwrite.delete_data_file(file)
    transaction.commit_transaction()


def _delete(table: "Table", path: str) -> bool:
    files, _ = opened(table.io, data_folder(table))
    try:
        files.delete_file(path)
    except FileNotFoundError:
        return False
    return True
