"""One table of a sink ``Iceberg``, in the driver: commit to it, sweep its staged files, and retract from it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from seatunnel_core.connectors.filesystems.staged_name import committable_id
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg.catalog import without_retries
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
from seatunnel_core.connectors.sink import SinkContext
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.work.retraction import Retraction

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

_TRIES = 10
"""The number of attempts of a commit when other writers of the table commit first."""

_PARTITION = 3
"""The index of the partition in pyiceberg's ``DataFile``."""


@frozen(kw_only=True)
class TargetTable:
    """A table by its name, which may not exist; each method loads its current state."""

    id: TableId
    context: SinkContext
    catalog: "Callable[[], Catalog]" = field(repr=False)
    """Opens the catalog."""

    @property
    def named(self) -> str:
        """The name of the table in messages."""
        return ".".join(self.id)

    @property
    def who(self) -> str:
        """The pipeline and sink, for messages."""
        return f"pipeline {self.context.pipeline_id}, sink Iceberg"

    def found(self) -> "Table | None":
        """Return the current table, on which pyiceberg tries a commit once; ``None`` when it does not exist."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self.catalog().load_table(self.id)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        properties = without_retries(table.metadata.properties)
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def require(self) -> "Table":
        """Return the current table, after checking that no newer engine has committed to it.

        Raises:
            CommitError: The table does not exist, or a newer engine has committed.
        """
        table = self.found()
        if table is None:
            raise CommitError(f"{self.who}: the table {self.named} is gone: somebody dropped or renamed it")
        self._refuse_replaced(table)
        return table

    def _refuse_replaced(self, table: "Table") -> None:
        newest = history.newest_epoch(table, self.context)
        if newest > self.context.epoch:
            raise CommitError(
                f"{self.who}: another engine goes on with this job: the table {self.named} has a commit of its "
                f"epoch {newest}, and this one has {self.context.epoch}"
            )

    def apply_save_modes(self, data: str, schema: str) -> None:
        """Empty or drop the table, or raise an error when it has rows, as the two options require.

        Args:
            data: The option ``data_save_mode``.
            schema: The option ``schema_save_mode``.

        Raises:
            SinkError: The table has rows and ``data`` is ``ERROR_WHEN_DATA_EXISTS``.
            CommitError: A newer engine has committed.
        """
        table = self.found()
        if table is None:
            return
        self._refuse_replaced(table)
        own = f"{job_folder(table, self.context.job_id)}/"  # another pipeline of this job may write here too
        every = history.live_files(table, lambda _path: True)
        foreign = [file for file in every if not file.file_path.startswith(own)]
        if data == "ERROR_WHEN_DATA_EXISTS" and foreign:
            raise SinkError(
                f"{self.who}: the table {self.named} has rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty "
                "it, choose another, or write APPEND_DATA"
            )
        if schema == "RECREATE_SCHEMA" and len(foreign) == len(every):
            self.catalog().drop_table(self.id)
        elif data == "DROP_DATA":
            _remove(table, foreign, history.identity(self.context))

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, staged: Sequence[StagedFiles], *, again: bool) -> None:
        """Publish in one commit the committables that have not been published yet.

        Args:
            staged: The files of the committables of one checkpoint for this table.
            again: Whether they may have been committed before.

        Raises:
            CommitError: A newer engine has committed, a file is missing, the partitions have changed, or a committable
                has been published although ``again`` is false.
        """
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(_TRIES):
            table = self.require()
            done = self._published(table, staged, again=again)
            if done and not again:
                raise CommitError(
                    f"{self.who}: a snapshot of the table {self.named} has {min(done)} already, which nobody has "
                    "committed yet: does another job use the same id?"
                )
            rest = [each for each in staged if each.committable not in done]
            if not rest:
                return
            try:
                self._append(table, rest)
            except CommitFailedException:
                again = True
            else:
                return
        raise self._too_many_others(CommitError)

    def _published(self, table: "Table", staged: Sequence[StagedFiles], *, again: bool) -> set[str]:
        """Return the ids of the committables that are in the table.

        Where snapshots were removed, manifests are searched for the files, but only when ``again`` is true.
        """
        after = min(_known_after(table, each) for each in staged)
        done = history.committed_ids(table, self.context, after) & {each.committable for each in staged}
        if again and history.is_cut(table, after):
            named = history.named_files(table, self.context.job_id, after)
            done |= {each.committable for each in staged if named.issuperset(name for name, _ in each.files)}
        return done

    def _append(self, table: "Table", staged: Sequence[StagedFiles]) -> None:
        files: list[DataFile] = []
        counts: Counter[str] = Counter()
        spec = table.spec()
        for each in staged:
            if each.spec != spec.spec_id and not (each.spec is None and spec.is_unpartitioned()):
                raise CommitError(
                    f"{self.who}: rows of {self.named} were divided by its partition spec {each.spec}, and now it has "
                    f"{spec.spec_id} ({spec}): give the table its former partitions back, go on with "
                    "this job until it has ended or was stopped, and change them then"
                )
            files += self._data_files(table, each)
            counts[each.committable] += len(each.files)
        transaction = table.transaction()
        summary = history.identity(self.context, committed=counts)
        with transaction.update_snapshot(snapshot_properties=summary).fast_append() as append:
            for file in files:
                append.append_data_file(file)
        transaction.commit_transaction()

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
                raise CommitError(
                    f"{self.who}: a data file that was staged is gone ({error}), and no snapshot of {self.named} "
                    "names it: is the table's location shared with the tasks, and did somebody remove orphan files?"
                ) from error
            file[_PARTITION] = record(partition, table.spec(), table.schema())
            file.spec_id = table.spec().spec_id
            found.append(file)
        return found

    # -- sweeping and taking back ---------------------------------------------------------------------------------

    def sweep(self, keep: frozenset[str], below: int) -> int:
        """Remove staged files of epochs before ``below`` that no checkpoint and no snapshot names, and count them.

        Args:
            keep: The ids of committables whose files stay.
            below: The first epoch whose files stay.
        """
        table = self.found()
        if table is None:
            return 0
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
        """Commit this epoch without files, so that an engine of an older epoch cannot commit files that are swept.

        Its commit fails, as another one came first. Then it loads the table again, finds the newer epoch, and stops.
        """
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(_TRIES):
            transaction = self.require().transaction()
            try:
                with transaction.update_snapshot(snapshot_properties=history.identity(self.context)).fast_append():
                    pass
                transaction.commit_transaction()
            except CommitFailedException:
                continue
            return
        raise self._too_many_others(SinkError)

    def retract(self, retraction: Retraction) -> int:
        """Remove the files of retracted committables from the table in one commit, and return their number.

        Raises:
            SinkError: Rows of a retracted committable are in other files now, as the table was rewritten.
        """
        table = self.found()
        if table is None:
            return 0
        self._refuse_replaced(table)

        def taken(committable: str) -> bool:
            source, epoch, unit = map(int, committable.split("-"))
            return retraction.takes(committable, source=source, epoch=epoch, unit=unit)

        def id_of(path: str) -> str:
            unit = own_file(path.rpartition("/")[2], self.context)
            return committable_id(unit) if unit is not None else ""

        files = history.live_files(table, lambda path: id_of(path) != "" and taken(id_of(path)))
        there = Counter(id_of(file.file_path) for file in files)
        gone = history.retracted_ids(table, self.context)
        before = history.committed_files(table, self.context).items()
        rewritten = [each for each, count in before if each not in gone and taken(each) and there[each] < count]
        if rewritten:
            raise SinkError(
                f"{self.who}: the rows of {len(rewritten)} units are no longer in the files of the table "
                f"{self.named} in which they were published: somebody rewrote or removed these. Set the table back to "
                "the snapshot before them, or go on with --accept-duplicates"
            )
        _remove(table, files, history.identity(self.context, retracted=sorted(there)))
        return len(files)

    def _too_many_others(self, kind: type[SinkError]) -> SinkError:
        error = kind(f"{self.who}: other writers of the table {self.named} came first {_TRIES} times")
        error.retryable = True
        return error


def _known_after(table: "Table", staged: StagedFiles) -> int:
    """Return the sequence number up to which no snapshot of the table can name the files.

    It is 0 when the table was replaced by another one, or was restored to an older state with smaller numbers.
    """
    same = staged.uuid == str(table.metadata.table_uuid) and staged.after <= history.last_number(table)
    return staged.after if same else 0


def _remove(table: "Table", files: Sequence["DataFile"], summary: dict[str, str]) -> None:
    """Remove data files from the table in one commit; the files are deleted when their snapshots expire."""
    if not files:
        return
    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties=summary).overwrite() as overwrite:
        for file in files:
            overwrite.delete_data_file(file)
    transaction.commit_transaction()


def _delete(table: "Table", path: str) -> bool:
    """Delete a file, and return whether it existed."""
    files, _ = opened(table.io, data_folder(table))
    try:
        files.delete_file(path)
    except FileNotFoundError:
        return False
    return True
