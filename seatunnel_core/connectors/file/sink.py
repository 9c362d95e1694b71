"""File sinks, which publish a file when the checkpoint that contains it is complete; and ``LocalFile``."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import (
    SupportsComplete,
    SupportsDryRun,
    SupportsProbe,
    SupportsPublishedQuery,
    SupportsRollback,
    SupportsSaveMode,
    can_roll_back,
)
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connector_api.sink import Guarantee, SaveMode, SinkContext, SinkWriter, TargetOrder, WriterContext
from seatunnel_core.connector_api.values import Committable, Retraction
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.additions import AddingSink
from seatunnel_core.connectors.file import sink_options as opt
from seatunnel_core.connectors.file.file_layout import layout_of
from seatunnel_core.connectors.file.replacing import Replacing, refuse_unfit, require_replaceable
from seatunnel_core.connectors.file.save_mode import Fence
from seatunnel_core.connectors.file.writing import FileSinkWriter
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.staging.committed import staged_copies, staged_files
from seatunnel_core.connectors.staging.published import NamePattern, own_name, published, retract
from seatunnel_core.connectors.staging.table_names import any_folders, refuse_mixtures
from seatunnel_core.connectors.staging.target import StagedFile, Target


class FileSink(
    AddingSink,
    SupportsComplete,
    SupportsDryRun,
    SupportsProbe,
    SupportsPublishedQuery,
    SupportsRollback,
    SupportsSaveMode,
):
    """Base class of file sinks: implements everything except the file system."""

    guarantee = Guarantee.EXACTLY_ONCE
    expires_commit_records = False
    server: ClassVar[tuple[Option[Any], ...]] = ()
    """Options that identify the file server, unless the path contains it."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.files = self.file_system(options)
        self.layout = layout_of(self.identifier, options, self.files)
        refuse_unfit(self.layout)
        style, replaces = self.layout.style, self.layout.mode.replaces
        self.isolates_bad_rows = not style.writer.keeps_names
        self.takes_any_moment = style.format == "parquet" and not style.int96
        # Files of this sink are recognized only by their name.
        if style.writer.keeps_names or replaces:
            self.disable(SupportsRollback)
        self.needs_end = replaces
        # For the configured format and codec only.
        self.task_modules = style.task_modules + self.files.task_modules
        self._was_there = True
        """True if the target existed before this process prepared it. A new target is not checked."""

        self._written_to: dict[str, tuple[TableSchema, pa.Schema]] = {}

    @classmethod
    @abstractmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system that the options define, without connecting to it."""

    def target(self, context: SinkContext | WriterContext) -> Target:
        """Return the target folder for a sink or a writer."""
        return self.layout.target(context)

    @property
    def target_folder(self) -> str | None:
        return self.layout.root

    @property
    def bound_to(self) -> Mapping[str, str]:
        """Return the fixed part of the path, and the server. File names in committables are relative to this path."""
        kept = {"file_format_type": "binary"} if self.layout.style.writer.keeps_names else {}
        served = written_options(self.options, *self.server) if self.server else {}
        how = written_options(self.options, opt.WRITE_MODE, opt.REPLACE_PARTITIONS) if self.layout.mode.replaces else {}
        return {opt.PATH.key: self.layout.place, **kept, **served, **how}

    @property
    def recognises_by(self) -> Mapping[str, str]:
        expression = self.layout.expression
        said = {opt.FILE_NAME.key: expression} if expression != "${transactionId}" else {}
        return {**said, **written_options(self.options, opt.TIME_FORMAT)} if "${now}" in expression else said

    @property
    def save_mode(self) -> SaveMode | None:
        data, schema = self._modes
        does = [data] if data != "APPEND_DATA" else []
        return SaveMode(
            target=self.layout.place,
            does=", ".join(does + [schema] * (schema == "RECREATE_SCHEMA")),
            emptied_folder=self.layout.root if self._empties else None,
        )

    @property
    def _empties(self) -> bool:
        return "DROP_DATA" in self._modes or "RECREATE_SCHEMA" in self._modes

    @property
    def _fenced(self) -> bool:
        return self._empties or (self.layout.mode.replaces and not self.files.has_folders)

    @property
    def _modes(self) -> tuple[str, str]:
        return self.options[opt.DATA_SAVE_MODE], self.options[opt.SCHEMA_SAVE_MODE]

    def check_schema(self, schema: TableSchema) -> None:
        self.layout.check_schema(schema)

    def order_of(self, schema: TableSchema) -> TargetOrder:
        found = super().order_of(schema)
        return evolve(found, target="\0".join((*self.layout.destination_of(schema), found.target)))

    def check_schemas(self, schemas: Sequence[TableSchema]) -> None:
        super().check_schemas(schemas)
        refuse_mixtures(self._written(schemas), {})

    def _written(self, schemas: Sequence[TableSchema]) -> Iterator[tuple[str, TableSchema, pa.Schema]]:
        layout = self.layout
        return (("/".join(layout.destination_of(schema)), schema, layout.written(schema)) for schema in schemas)

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Reject tables of different sources that would share a folder with different columns. Create nothing."""
        self.check_schemas(schemas)
        refuse_mixtures(self._written(schemas), self._written_to)
        if self.layout.mode.replaces and not self.layout.mode.partitions:
            self._replacing(context).expect({self.layout.destination_of(schema)[0] for schema in schemas})

    # -- in the driver --------------------------------------------------------------------------------------------

    def dry_run(self, schemas: Sequence[TableSchema] | None) -> Sequence[str]:
        try:
            there = self.files.is_folder(self.layout.place)
            known = self.files.require_writable(self.layout.root)
            if self.layout.root != self.layout.place:
                self.files.require_replaceable(self.layout.place)
        except OSError as error:
            raise SinkError(f"{error.filename or self.layout.root}: {error.strerror or error}") from error
        if not there and self.options[opt.SCHEMA_SAVE_MODE] == "ERROR_WHEN_SCHEMA_NOT_EXIST":
            raise SinkError(f"{self.layout.place} does not exist, and schema_save_mode is ERROR_WHEN_SCHEMA_NOT_EXIST")
        found = f"the folder {self.layout.place} {'exists' if there else 'will be created'}"
        writable = "(writable)" if known else "(write permission not checked)"
        return [f"{found} {writable}"]

    def prepare(self, context: SinkContext) -> None:
        target = self.target(context)
        must_be_there = self.options[opt.SCHEMA_SAVE_MODE] == "ERROR_WHEN_SCHEMA_NOT_EXIST"
        try:
            self._was_there = self.files.is_folder(self.layout.place)
        except OSError:
            if must_be_there:
                raise  # Otherwise the next write reports it.
        if must_be_there and not self._was_there:
            raise SinkError(
                f"{target.who}: {self.layout.place} does not exist, and schema_save_mode is "
                "ERROR_WHEN_SCHEMA_NOT_EXIST; create it, or remove schema_save_mode"
            )
        if self.layout.root != self.layout.place:
            require_replaceable(target, self.layout.place)
        target.create(context)
        fence = Fence(target, context)
        fence.shut_out_older()
        if context.process > 1:  # The job may have started in another process.
            self._note_files(fence)
        if self._fenced:
            fence.begin()

    def _note_files(self, fence: Fence) -> None:
        """Record how many files of other jobs the target contains."""
        if self._was_there and not self.layout.mode.replaces and not self._empties:
            there = fence.files_in_words(self.layout.expression, self.options[opt.TIME_FORMAT])
            self.adds_to = {"": there} if there else {}

    def prove(self, context: SinkContext, token: str) -> None:
        self.target(context).prove(context.epoch, token)

    def apply_save_mode(self, context: SinkContext) -> None:
        target = self.target(context)
        fence = Fence(target, context)
        if self.options[opt.DATA_SAVE_MODE] == "APPEND_DATA" and not self._empties:
            self._note_files(fence)
            return
        with target.errors("cannot be emptied", self.layout.root):
            found = fence.existing(
                any_folders(self.layout.template), self.layout.expression, self.options[opt.TIME_FORMAT]
            )
            if self._empties:
                fence.drop(found)
            elif found:
                raise SinkError(
                    f"{target.who}: {self.layout.root} contains {found[0].name!r}, and data_save_mode is "
                    "ERROR_WHEN_DATA_EXISTS; empty the folder, choose another folder, or set APPEND_DATA"
                )

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        target = self.target(context)
        target.require_for_commit(context.epoch)
        named = staged_copies if self.layout.style.writer.keeps_names else staged_files
        files = [file for committable in committables for file in named(committable, target)]
        if self.layout.mode.replaces:
            replacing = self._replacing(context)
            if self.layout.mode.partitions:
                replacing.expect(dict.fromkeys(file.folder for file in files))
            files = replacing.collected(files, may_be_committed=may_be_committed)
        touched: set[str] = set()
        try:
            for folder in self._published(target, files, may_be_committed=may_be_committed):
                touched.add(folder)
        finally:
            for folder in touched:
                with suppress(FileNotFoundError):  # The file was published earlier and removed since.
                    self.files.sync_folder(folder)

    def _published(self, target: Target, files: Sequence[StagedFile], *, may_be_committed: bool) -> Iterator[str]:
        """Publish all files and yield their folders. After an error, wait for the files in progress, then raise it."""
        workers = min(self.files.publishes_at_once, len(files))
        if workers <= 1:
            yield from (target.publish(file, may_be_committed=may_be_committed) for file in files)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="publish") as pool:
            waiting = [pool.submit(target.publish, file, may_be_committed=may_be_committed) for file in files]
            try:
                yield from (each.result() for each in waiting)
            finally:
                pool.shutdown(cancel_futures=True)

    def complete(self, context: SinkContext) -> None:
        if self.layout.mode.replaces:
            self.target(context).require_for_commit(context.epoch)
            self._replacing(context).complete()

    def _replacing(self, context: SinkContext) -> Replacing:
        target = self.target(context)
        return Replacing(target=target, context=context, own=own_name(target, [self._pattern(self.recognises_by)]))

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return self.target(context).sweep(context.epoch + final, keep)

    def roll_back(self, context: SinkContext, retraction: Retraction) -> int:
        if not can_roll_back(self):
            raise SinkError(f"sink {self.identifier} cannot roll back published output with these options")
        return retract(self.target(context), self._pattern(self.recognises_by), retraction)

    def published(self, context: SinkContext) -> Iterable[str]:
        if self.layout.style.writer.keeps_names:
            return ()
        target, told = self.target(context), (*context.recognised_before, self.recognises_by)
        where = evolve(target, root=self._replacing(context).waiting) if self.layout.mode.replaces else target
        return published(where, [self._pattern(each) for each in told])

    @staticmethod
    def _pattern(told: Mapping[str, str]) -> NamePattern:
        """Return the pattern of file names from the result of ``recognises_by``."""
        expression = told.get(opt.FILE_NAME.key, "${transactionId}")
        return NamePattern(expression, told.get(opt.TIME_FORMAT.key, str(opt.TIME_FORMAT.default)))

    def clear(self, context: SinkContext) -> None:
        target = self.target(context)
        if self.layout.mode.replaces:
            self._replacing(context).clear()
        Fence(target, context).clear(fences=self._fenced)
        target.clear(context.epoch)

    # -- in tasks -------------------------------------------------------------------------------------------------

    def probe(self, context: SinkContext, token: str) -> None:
        self.target(context).probe(context.epoch, token)

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        if self.layout.style.writer.keeps_names:
            from seatunnel_core.connectors.file.formats.binary import BinarySinkWriter

            return BinarySinkWriter(self.layout, schemas, context)
        return FileSinkWriter(self.layout, schemas, context)


class LocalFileSink(FileSink):
    """Writes files to a folder that the driver and all tasks reach under the same path."""

    identifier: ClassVar[str] = "LocalFile"
    declared = opt.SINK_OPTIONS
    example = """
        path = "/data/out"
        file_format_type = parquet
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return LocalFileSystem()
