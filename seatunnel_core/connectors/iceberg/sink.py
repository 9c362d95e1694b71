"""The sink ``Iceberg``: tasks stage data files below the table, the driver appends them in one commit a checkpoint."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from seatunnel_core import stored
from seatunnel_core.checkpoint.retraction import Retraction
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.config.option import Options
from seatunnel_core.connectors.file.staged_name import committable_id
from seatunnel_core.connectors.iceberg import history
from seatunnel_core.connectors.iceberg import options as opt
from seatunnel_core.connectors.iceberg.catalog import (
    catalog_properties,
    identifier,
    may_pass,
    without_retries,
)
from seatunnel_core.connectors.iceberg.columns import iceberg_schema, refuse_unfit
from seatunnel_core.connectors.iceberg.staging import (
    data_folder,
    epoch_folder,
    files_of,
    is_own_name,
    job_folder,
    make_folder,
    opened,
    own_file,
)
from seatunnel_core.connectors.iceberg.writer import IcebergWriter, StagingTable
from seatunnel_core.connectors.sink import Guarantee, Sink, SinkPlace, StagingPlace
from seatunnel_core.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.rows.batch import TableSchema

if TYPE_CHECKING:
    from pyiceberg.table import Table

T = TypeVar("T")

_making = threading.Lock()
"""Of the sinks of a process one at a time makes what they share: a new catalog's own tables, and the namespace."""

_TRIES = 10
"""How often a commit is tried again at once when other writers of the table came first."""


class IcebergSink(Sink):
    """Appends rows to one table. The catalog's own check that nobody committed in between is what makes a commit happen
    once, also when an engine that was replaced wakes up in the midst of one."""

    identifier: ClassVar[str] = "Iceberg"
    declared = opt.SINK_OPTIONS
    example = """
        iceberg.catalog.config { type = sql, uri = "sqlite:////data/catalog.db", warehouse = "file:///data/warehouse" }
        namespace = shop
        table = orders
    """
    guarantee = Guarantee.EXACTLY_ONCE
    retracts = True
    task_modules: ClassVar[tuple[str, ...]] = ("pyiceberg",)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._properties = catalog_properties(options)
        self._table_id = identifier(options)
        self._staging: StagingTable | None = None
        self._connection = _Connection()

    @property
    def _named(self) -> str:
        return ".".join(self._table_id)

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get neither the catalog nor what opens it."""
        return {**self.__dict__, "_connection": None, "_properties": {}, "options": None}

    def check_schema(self, schema: TableSchema) -> None:
        iceberg_schema(schema)

    # -- at the start ---------------------------------------------------------------------------------------------

    def prepare(self, place: SinkPlace) -> None:
        self._try(place, "cannot be reached", self._found)

    def apply_save_mode(self, place: SinkPlace) -> None:
        self._try(place, "cannot be emptied", lambda: self._apply_save_mode(place))

    def _apply_save_mode(self, place: SinkPlace) -> None:
        table = self._found()
        if table is None:
            return
        mode = self.options[opt.DATA_SAVE_MODE]
        own = f"{job_folder(table, place.job_id)}/"  # another pipeline of this job may write here too
        every = history.live_files(table, lambda _path: True)
        foreign = [file for file in every if not file.file_path.startswith(own)]
        if mode == "ERROR_WHEN_DATA_EXISTS" and foreign:
            raise SinkError(
                f"{_who(place)}: the table {self._named} has rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty "
                "it, choose another, or write APPEND_DATA"
            )
        if self.options[opt.SCHEMA_SAVE_MODE] == "RECREATE_SCHEMA" and len(foreign) == len(every):
            self._catalog().drop_table(self._table_id)
        elif mode == "DROP_DATA":
            _remove(table, foreign, history.identity(place))

    def create_tables(self, schemas: Sequence[TableSchema], place: SinkPlace) -> None:
        self._try(place, "cannot be made ready", lambda: self._create_table(schemas, place))

    def _create_table(self, schemas: Sequence[TableSchema], place: SinkPlace) -> None:
        table = self._found() or self._created(schemas[0], place)
        if not table.spec().is_unpartitioned():
            raise SinkError(
                f"{_who(place)}: the table {self._named} is partitioned ({table.spec()}), and only tables without "
                "partitions can be written yet"
            )
        sensitive = self.options[opt.CASE_SENSITIVE]
        for schema in schemas:
            refuse_unfit(schema, table.schema(), self._named, case_sensitive=sensitive)
        folder = epoch_folder(table, place, place.epoch)
        make_folder(table, folder)
        self._staging = StagingTable(
            folder=folder,
            schema=table.schema().model_dump_json(),
            case_sensitive=sensitive,
            properties={**table.properties, **(self.options[opt.WRITE_PROPERTIES] or {})},
            io_properties=dict(table.io.properties),
        )

    def _created(self, schema: TableSchema, place: SinkPlace) -> "Table":
        from pyiceberg.exceptions import TableAlreadyExistsError

        mode = self.options[opt.SCHEMA_SAVE_MODE]
        if mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
            raise SinkError(
                f"{_who(place)}: there is no table {self._named} and schema_save_mode is {mode}; create it, or write "
                "CREATE_SCHEMA_WHEN_NOT_EXIST"
            )
        catalog = self._catalog()
        with _making:
            catalog.create_namespace_if_not_exists(self._table_id[:-1])
        try:
            properties = self.options[opt.CREATE_PROPERTIES] or {}
            made = catalog.create_table(self._table_id, iceberg_schema(schema), properties=properties)
        except TableAlreadyExistsError:  # another source of this pipeline, or another pipeline, was faster
            made = catalog.load_table(self._table_id)
        return made

    # -- in tasks -------------------------------------------------------------------------------------------------

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> IcebergWriter:
        if self._staging is None:
            raise SinkError("the table was not made ready before its first row: create_tables has to be called first")
        return IcebergWriter(self._staging, place)

    # -- committing -----------------------------------------------------------------------------------------------

    def commit(self, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        names = {committable.id: self._names(committable, place) for committable in committables}
        self._try(place, "cannot be committed to", lambda: self._commit(committables, names, place, again), CommitError)

    def _commit(
        self, committables: Sequence[Committable], names: dict[str, list[str]], place: SinkPlace, again: bool
    ) -> None:
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(_TRIES):
            table = self._require(place)
            done = history.committed_ids(table, place)
            if history.is_cut(table):
                named = history.named_files(table, place.job_id)
                done |= {each for each, files in names.items() if named.issuperset(files)}
            rest = [committable for committable in committables if committable.id not in done]
            if len(rest) < len(committables) and not again:
                raise CommitError(
                    f"{_who(place)}: a snapshot of the table {self._named} has {sorted(names.keys() & done)[0]} "
                    "already, which nobody has committed yet: does another job use the same id?"
                )
            if not rest:
                return
            try:
                self._append(table, rest, names, place)
            except CommitFailedException:
                again = True
            else:
                return
        error = CommitError(f"{_who(place)}: other writers of the table {self._named} came first {_TRIES} times")
        error.retryable = True
        raise error

    def _append(
        self, table: "Table", committables: Sequence[Committable], names: dict[str, list[str]], place: SinkPlace
    ) -> None:
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        paths = [
            f"{epoch_folder(table, place, committable.epoch)}/{name}"
            for committable in committables
            for name in names[committable.id]
        ]
        try:
            files = list(parquet_files_to_data_files(table.io, table.metadata, iter(paths)))
        except FileNotFoundError as error:
            raise CommitError(
                f"{_who(place)}: a data file that was staged is gone ({error}), and no snapshot of {self._named} names "
                "it: is the table's location shared with the tasks, and did somebody remove orphan files?"
            ) from error
        said = history.identity(place, committed=[committable.id for committable in committables])
        transaction = table.transaction()
        with transaction.update_snapshot(snapshot_properties=said).fast_append() as append:
            for file in files:
                append.append_data_file(file)
        transaction.commit_transaction()

    def _names(self, committable: Committable, place: SinkPlace) -> list[str]:
        try:
            names = stored.items(committable.body, "files")
            for name in names:
                if not is_own_name(name, place, committable.epoch, committable.unit):
                    raise StoredValueError(f"{ascii(name)[:200]} is not the name of a file that it staged")
        except StoredValueError as error:
            raise CommitError(
                f"{_who(place)}: the committable {ascii(committable.id)[:60]} is not one that this sink made: {error}. "
                "Nothing of it was published; restore an older checkpoint"
            ) from error
        return names

    # -- sweeping and taking back ---------------------------------------------------------------------------------

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        return self._try(place, "cannot be swept", lambda: self._sweep(place, keep, place.epoch + final))

    def _sweep(self, place: SinkPlace, keep: frozenset[str], below: int) -> int:
        table = self._found()
        if table is None:
            return 0
        files = [file for file in files_of(table, place) if file.epoch < below and file.committable not in keep]
        named = history.named_files(table, place.job_id) if files else set()
        dead = [file for file in files if file.name not in named]
        if any(file.epoch < place.epoch for file in dead) and history.newest_epoch(table, place) < place.epoch:
            self._fence(place)
            named = history.named_files(self._require(place), place.job_id)
            dead = [file for file in dead if file.name not in named]
        removed = 0
        for file in dead:
            removed += _delete(table, file.path)
        return removed

    def _fence(self, place: SinkPlace) -> None:
        """Commit nothing but this epoch. An engine of an older one that is about to commit files which are swept now
        finds that somebody came first, looks again, and stops."""
        from pyiceberg.exceptions import CommitFailedException

        for _ in range(_TRIES):
            transaction = self._require(place).transaction()
            try:
                with transaction.update_snapshot(snapshot_properties=history.identity(place)).fast_append():
                    pass
                transaction.commit_transaction()
            except CommitFailedException:
                continue
            return
        error = SinkError(f"{_who(place)}: other writers of the table {self._named} came first {_TRIES} times")
        error.retryable = True
        raise error

    def retract(self, place: SinkPlace, retraction: Retraction) -> int:
        return self._try(place, "cannot take rows back", lambda: self._retract(place, retraction))

    def _retract(self, place: SinkPlace, retraction: Retraction) -> int:
        table = self._found()
        if table is None:
            return 0
        self._refuse_replaced(table, place)

        def taken(committable: str) -> bool:
            source, epoch, unit = map(int, committable.split("-"))
            return retraction.takes(committable, source=source, epoch=epoch, unit=unit)

        def id_of(path: str) -> str:
            unit = own_file(path.rpartition("/")[2], place)
            return committable_id(unit) if unit is not None else ""

        files = history.live_files(table, lambda path: id_of(path) != "" and taken(id_of(path)))
        there = {id_of(file.file_path) for file in files}
        before = history.committed_ids(table, place) - history.retracted_ids(table, place)
        rewritten = sorted(each for each in before if taken(each) and each not in there)
        if rewritten:
            raise SinkError(
                f"{_who(place)}: the rows of {len(rewritten)} units are no longer in the files of the table "
                f"{self._named} in which they were published: somebody rewrote or removed these. Set the table back to "
                "the snapshot before them, or go on with --accept-duplicates"
            )
        _remove(table, files, history.identity(place, retracted=sorted(there)))
        return len(files)

    # -- the catalog ----------------------------------------------------------------------------------------------

    def _catalog(self) -> Any:
        return self._connection.catalog(self.options[opt.CATALOG_NAME], self._properties)

    def _found(self) -> "Table | None":
        """The table as it is now, whose commits are tried once; ``None`` when there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            table = self._catalog().load_table(self._table_id)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        properties = without_retries(table.metadata.properties)
        table.metadata = table.metadata.model_copy(update={"properties": properties})
        return table

    def _require(self, place: SinkPlace) -> "Table":
        table = self._found()
        if table is None:
            raise CommitError(f"{_who(place)}: the table {self._named} is gone: somebody dropped or renamed it")
        self._refuse_replaced(table, place)
        return table

    def _refuse_replaced(self, table: "Table", place: SinkPlace) -> None:
        newest = history.newest_epoch(table, place)
        if newest > place.epoch:
            raise CommitError(
                f"{_who(place)}: another engine goes on with this job: the table {self._named} has a commit of its "
                f"epoch {newest}, and this one has {place.epoch}"
            )

    def _try(
        self, place: SinkPlace, what: str, work: Callable[[], T], kind: Callable[[str], SinkError] = SinkError
    ) -> T:
        """Do it, and say of what the outside world answers whether it may pass."""
        try:
            return work()
        except SinkError:
            raise
        except Exception as error:
            found = kind(f"{_who(place)}: the table {self._named} {what}: {type(error).__name__}: {error}")
            found.retryable = may_pass(error)
            raise found from error


class _Connection:
    """The catalog, opened once in the driver's process and used by several of its threads."""

    def __init__(self) -> None:
        self._catalog: Any = None

    def catalog(self, name: str, properties: dict[str, str]) -> Any:
        from pyiceberg.catalog import load_catalog

        with _making:
            if self._catalog is None:
                self._catalog = load_catalog(name, **properties)
            return self._catalog


def _who(place: SinkPlace) -> str:
    return f"pipeline {place.pipeline_id}, sink Iceberg"


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
