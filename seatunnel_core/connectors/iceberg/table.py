"""One table of a sink ``Iceberg`` in the driver: what is committed to it, swept beside it and taken back from it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

_TRIES = 10
"""How often a commit is tried again at once when other writers of the table came first."""

_PARTITION = 3
"""Where a data file of pyiceberg has its partition."""


@frozen(kw_only=True)
class TargetTable:
    """A table by its name: it may be there or not, and each call looks at it as it is now."""

    id: TableId
    context: SinkContext
    catalog: Callable[[], Any] = field(repr=False)
    """Opens the catalog."""

    @property
    def named(self) -> str:
        return ".".join(self.id)

    @property
    def who(self) -> str:
        return f"pipeline {self.context.pipeline_id}, sink Iceberg"

    def found(self) -> "Table | None":
        """The table as it is now, whose commits are tried once; ``None`` when there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self.catalog().load_table(self.id)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        properties = without_retries(table.metadata.properties)
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def require(self) -> "Table":
        """The table, in which no newer engine has committed anything.

        Raises:
            CommitError: it is gone, or one has.
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
        """Empty or drop the table, or refuse it when it has rows, as the two options say."""
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
        """Publish in one commit what has not been published yet.

        Raises:
            CommitError: what stands in the way.
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
        """The ids of the committables that are in the table. Whoever commits for the first time need not look for
        files where snapshots were removed."""
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
        said = history.identity(self.context, committed=counts)
        with transaction.update_snapshot(snapshot_properties=said).fast_append() as append:
            for file in files:
                append.append_data_file(file)
        transaction.commit_transaction()

    def _data_files(self, table: "Table", staged: StagedFiles) -> "list[DataFile]":
        from pyiceberg.io.pyarrow import parquet_file_to_data_file
        from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC

        # pyiceberg would guess the partitions from the footers, which do not tell those of all transforms.
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
        """Remove the files of smaller epochs than ``below`` that are neither kept nor named by a snapshot."""
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
        """Commit nothing but this epoch. An engine of an older one that is about to commit files which are swept now
        finds that somebody came first, looks again, and stops."""
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
        """Take the files that ``retraction`` takes out of the table, and count them."""
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
    """The sequence number up to which no snapshot of the table can name the files; 0 when it is another table now, or
    was put back to a state in which its numbers were smaller."""
    same = staged.uuid == str(table.metadata.table_uuid) and staged.after <= history.last_number(table)
    return staged.after if same else 0


def _remove(table: "Table", files: Sequence[Any], said: dict[str, str]) -> None:
    """Take data files out of the table in one commit; the files themselves go when their snapshots do."""
    if not files:
        return
    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties=said).overwrite() as overwrite:
        for file in files:
            overwrite.delete_data_file(file)
    transaction.commit_transaction()


def _delete(table: "Table", path: str) -> bool:
    """Remove a file, and say whether it was there."""
    files, _ = opened(table.io, data_folder(table))
    try:
        files.delete_file(path)
    except FileNotFoundError:
        return False
    return True
