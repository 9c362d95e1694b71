"""File sources, which read byte ranges or row groups; and ``LocalFile``, for local files.

The driver lists the files with their size and modification time but does not open them. Tasks inspect files where
necessary: the quotes in a large CSV file, a Parquet footer, the first lines if there is no schema. The body of a split
contains ``path``, ``size``, ``mtime_ns`` and the format's description of the range. It also contains ``columns`` if the
job declares none, and ``keys`` if folders become columns.
"""

import errno
import logging
import re
import time
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SeaTunnelError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.schema import named_block
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats.archives import Archived
from seatunnel_core.connectors.file.formats.names import source_format
from seatunnel_core.connectors.file.formats.source_format import SourceFormat
from seatunnel_core.connectors.file.increments import IncrementalFiles
from seatunnel_core.connectors.file.listing import listing_of, partition_keys
from seatunnel_core.connectors.file.reading import FileReading
from seatunnel_core.connectors.file.watching import Memory, Watch
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.partition_folders import partitions
from seatunnel_core.connectors.schema_options import COLUMN_NAMES, INFERENCE, NESTING, nesting_of
from seatunnel_core.rows.columns import with_columns
from seatunnel_core.rows.defaults import Moment, default_values
from seatunnel_core.rows.nesting import TABLES
from seatunnel_core.rows.schema_block import declared_table, described_table, table_name
from seatunnel_core.rows.schema_text import schema_to_text

_FILES_TO_CHECK = 100
"""Number of files that ``--check`` opens to find unreadable files."""

_OTHER_FORMAT = "Set file_format_type to the format of the files, or exclude this file with file_filter_pattern"

_log = logging.getLogger(__name__)

_DECLARE = "Declare them: schema { fields { id = bigint, name = string } }"


class FileSource(IncrementalFiles, Source):
    """Base class of file sources: implements everything except the file system."""

    waits = False

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._files = self.file_system(options)
        self._block = named_block(options)
        declared, defaults = _declared(self._block)
        self._table = table_name(self._block)
        self._format = _format_of(options, self._files)
        # For the configured format only.
        self.task_modules = self._format.task_modules + self._files.task_modules
        self._nesting = nesting_of(options)
        self._listing = listing_of(options, self._files)
        self.bounded = not self._listing.watched
        self._begin_increments(options, self._listing)
        self._watch = Watch(interval_ms=options[opt.SCAN_INTERVAL], from_now_on=options[opt.START_MODE] == "latest")
        self._reading = FileReading(
            format=self._format,
            declared=self._format.columns_of(declared),
            chosen=tuple(options[opt.READ_COLUMNS] or ()),
            defaults=defaults,
            lacks_any=options[opt.MISSING_COLUMNS] == "NULL",
        )
        if self._reading.declared is None and not self.bounded:
            raise UsageError(f"option 'discovery_mode': the columns of future files are unknown. {_DECLARE}")
        self._checked: Sequence[FileVersion] = ()
        """Files that ``planned_schemas`` has listed, so that ``discover`` need not list them again in ``--check``."""

        self._doubt = ""
        """Warning from ``planned_schemas`` about a probable mistake, for ``--check``."""

        self._listed: Sequence[FileVersion] = ()
        """Result of ``discover``, kept for the next ``enumerate``, if no task has to inspect the files."""

    @classmethod
    @abstractmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system that the options define, without connecting to it."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a task, without the listings."""
        return {**self.__dict__, "_checked": (), "_listed": ()}

    @property
    def read_path(self) -> str:
        return self._listing.path

    # -- planning -------------------------------------------------------------------------------------------------

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        if not self.bounded:
            return ()
        files, self._checked = self._checked or self._files_to_read(), ()
        inspects = self._any_to_inspect(files, planning)
        self._listed = () if inspects else files
        return self._chunks(files, planning) if inspects else ()

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        now_ms = time.time_ns() // 1_000_000
        changes = self._watch.poll(self._listing.found(), Memory.of(cursor), now_ms)
        return PollResult(
            items=tuple(self._chunks(changes.taken, planning)),
            inspect=self._any_to_inspect(changes.taken, planning),
            cursor=changes.memory.body(),
            again_ms=changes.again_ms,
            warnings=changes.warnings if cursor else (*changes.warnings, *filter(None, (self._listing.doubt(),))),
        )

    def _chunks(self, files: Sequence[FileVersion], planning: PlanningContext) -> list[DiscoveredObject]:
        return [
            {**version.body(), "start": start, "end": end}
            for version in files
            for start, end in self._format.chunks(version, planning)
        ]

    def _any_to_inspect(self, files: Sequence[FileVersion], planning: PlanningContext) -> bool:
        return any(self._must_inspect(version, planning) for version in files)

    def _must_inspect(self, version: FileVersion, planning: PlanningContext) -> bool:
        return self._reading.declared is None or self._format.must_inspect(version, planning)

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        found = dict(item)
        version = FileVersion.of(item)
        with self._files.open(version) as file, _named(version):
            if self._reading.declared is None:
                columns = self._reading.found(file, item["start"], item["end"])
                found |= {} if columns is None else {"columns": columns}
                found |= {"doubt": doubt} if item["start"] == 0 and (doubt := self._format.doubt(file)) else {}
            return found | self._format.examine(file, item["start"], item["end"], planning)

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        by_file: Iterable[list[DiscoveredObject]]
        if self.bounded and not inspected:
            files, self._listed = self._listed or self._files_to_read(), ()
            by_file = ([{**version.body(), "start": 0, "end": version.size}] for version in files)
        else:
            by_file = [list(of_file) for _, of_file in groupby(inspected, key=lambda item: item["path"])]
            files = [FileVersion.of(of_file[0]) for of_file in by_file]
        filtered = self._listing.doubt() if self.bounded and not files else ""
        if filtered:
            _log.warning("%s", filtered)
        columns = self._reading.declared
        if columns is None:
            found = [item["columns"] for item in inspected if "columns" in item]
            if not found:
                if not filtered:
                    _log.warning("%s contains only empty files, so no rows are read", self._listing.path)
                return Enumeration(schemas=(), splits=())
            columns = self._format.columns_found(found)
            for doubt in [item["doubt"] for item in inspected if "doubt" in item][:1]:
                _log.warning("%s", doubt)
        keys = self._partition_keys(files)
        from_folders = {"keys": list(keys)} if keys else {}
        bodies = (  # Without lists, which would be large for a million files.
            ({**body, **from_folders}, weight, rows)
            for version, of_file in zip(files, by_file, strict=True)
            for body, weight, rows in self._bodies(version, of_file, columns, planning)
        )
        splits = tuple(
            Split(index=index, weight_bytes=weight, rows=max(rows, 1), body=body)
            for index, (body, weight, rows) in enumerate(bodies)
        )
        return Enumeration(schemas=self._schemas(columns, keys), splits=splits)

    def _bodies(
        self, version: FileVersion, examined: list[DiscoveredObject], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[tuple[dict[str, Any], int, int]]:
        """Yield the body, bytes and rows of each split of one file."""
        body = version.body()
        declares = self._format.typed and examined[0].get("columns") == schema_to_text(columns)
        if self._reading.declared is None and not declares:
            body["columns"] = schema_to_text(columns)
        for place, weight, rows in self._format.pieces(version, examined, columns, planning):
            yield {**body, **place}, weight, rows

    def _schemas(self, columns: pa.Schema, keys: Sequence[str]) -> tuple[TableSchema, ...]:
        """Return the schemas of the table and of the child tables for its list columns."""
        try:
            return self._nesting.schemas(self._schema(columns, keys))
        except ValueError as error:
            raise SourceError(str(error)) from None

    def _schema(self, columns: pa.Schema, keys: Sequence[str]) -> TableSchema:
        """Return the schema that tasks read. It has no key if ``read_columns`` excludes a key column."""
        chosen = self._reading.wanted(columns) if columns.names else columns
        known = self._with_partitions(columns, keys) if columns.names else None
        with _wrong_schema(SourceError):
            table = described_table(self._block, known)
        return with_columns(table, self._with_partitions(chosen, keys))

    def _partition_keys(self, files: Sequence[FileVersion]) -> tuple[str, ...]:
        """Return the keys of partition folders; for watched folders, only those in the path, as in ``/data/year=*``."""
        if not self.options[opt.PARTITIONS]:
            return ()
        return partition_keys(files) if self.bounded else tuple(partitions(f"{self._listing.path}/"))

    def _with_partitions(self, columns: pa.Schema, keys: Sequence[str]) -> pa.Schema:
        known = set(columns.names)
        return pa.schema([*columns, *(pa.field(key, pa.string()) for key in keys if key not in known)])

    def require_input(self) -> None:
        """Raise ``SourceError`` unless the path exists and can be listed."""
        with self._what_to_write():
            next(iter(self._listing.found()), None)

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """List the files, open the first ones, and return the schema; ``None`` if all files are empty."""
        with self._what_to_write():
            files = self._checked = self._listing.files()
            self._doubt = "" if files else self._listing.doubt()
        try:
            for version in files[:_FILES_TO_CHECK]:
                self._files.open(version).close()
        except SourceError as error:
            raise SourceError(f"{error}. Make the file readable, or exclude it with file_filter_pattern") from error
        columns = self._reading.declared
        if columns is None:
            columns = self._inferred(files)
        return None if columns is None else self._schemas(columns, self._partition_keys(files))

    def planned_reading(self) -> Sequence[str]:
        sample = self._format.sample() if self._reading.declared is None else ""
        looked_at = (
            (f"the columns are inferred from {sample}; --check inspected only the beginning of one file")
            if sample
            else ""
        )
        return tuple(remark for remark in (looked_at, self._doubt) if remark)

    @contextmanager
    def _what_to_write(self) -> Iterator[None]:
        try:
            yield
        except SourceError as error:
            cause = error.__cause__
            if isinstance(cause, re.error):  # The message about the other option covers it.
                raise
            if isinstance(cause, OSError) and cause.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise
            raise SourceError(f"{error}. Set path to a file, a folder, or a pattern that matches files") from error

    def _inferred(self, files: Sequence[FileVersion]) -> pa.Schema | None:
        first = next((version for version in files if version.size), None)
        if first is None:
            return None
        try:
            with self._files.open(first) as file:
                columns = self._reading.infer(file)
                self._doubt = self._format.doubt(file)
                return columns
        except SourceError as error:
            raise SourceError(f"{error}. {_OTHER_FORMAT if self._format.typed else _DECLARE}") from error
        except (OSError, ValueError) as error:  # Arrow's errors about the content.
            raise SourceError(f"the columns of {first.path} cannot be determined: {error}. {_DECLARE}") from error

    # -- reading --------------------------------------------------------------------------------------------------

    def describe(self, splits: Sequence[Split]) -> Sequence[str]:
        by_file = groupby((split.body for split in splits), key=lambda body: FileVersion.of(body).path)
        return [f"{path}, {self._format.where(list(bodies))}" for path, bodies in by_file]

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        version = FileVersion.of(split.body)
        keys = stored.texts(split.body, "keys") if "keys" in split.body else ()
        with self._files.open(version) as file, _named(version):
            found = partitions(version.path) if keys else {}
            for rows in self._reading.read(file, split.body, context, found):
                rows = _with_values(rows, {key: found.get(key) for key in keys})
                yield from self._nesting.batches(Batch(table=self._table, rows=rows))


@contextmanager
def _named(version: FileVersion) -> Iterator[None]:
    """Add the file name to errors that libraries raise about the content of a file."""
    try:
        yield
    except SeaTunnelError:
        raise
    except (OSError, pa.ArrowException, UnicodeError, zlib.error) as error:
        # Errors of libraries about the content have no error number; a retry would fail again.
        numbered = isinstance(error, OSError) and error.errno
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SourceError(f"{version.path} cannot be read: {said}") from (error if numbered else None)


class LocalFileSource(FileSource):
    """Reads files that all tasks can reach under the same path."""

    identifier: ClassVar[str] = "LocalFile"
    declared = opt.SOURCE_OPTIONS
    example = """
        path = "/data/in"
        file_format_type = csv
        csv_use_header_line = true
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return LocalFileSystem()


def _format_of(options: Options, files: FileSystem) -> SourceFormat:
    name = options[opt.FORMAT]
    _check_inference(name, options)
    found: SourceFormat = source_format(name)(name, options)
    if options[opt.ARCHIVE] != "none":
        found = Archived(found, options[opt.ARCHIVE])
    found.files = files
    return found


def _check_inference(format: str, options: Options) -> None:
    """Reject inference options that would have no effect."""
    declares = declared_table(options[opt.SCHEMA_BLOCK]) is not None
    for option in INFERENCE:
        if options.is_set(option) and format != "json":
            raise UsageError(f"option {option.key!r}: only for file_format_type = json; remove it for {format}")
        if options.is_set(option) and declares and option not in (NESTING, COLUMN_NAMES):
            raise UsageError(f"option {option.key!r}: schema already declares the columns; remove one of the two")
    if options[NESTING] == TABLES and options[opt.READ_COLUMNS]:
        raise UsageError("option 'read_columns': nesting = tables reads all columns; select columns with Filter")


def _declared(block: Mapping[str, Any]) -> tuple[pa.Schema | None, Mapping[str, Any]]:
    """Return the columns in the ``schema`` block, and the default values of columns that a file may lack."""
    with _wrong_schema(UsageError):
        declared = declared_table(block)
        if declared is None:
            return None, {}
        defaults = {column.field.name: None for column in declared.columns if column.may_lack}
        defaults |= default_values(declared.columns)
    moments = [name for name, value in defaults.items() if value is Moment.NOW]
    if moments:
        raise UsageError(
            f"option 'schema': column {moments[0]!r}: defaultValue must not be the current time, because it "
            "would differ when a file is read again; add the column with the transform Sql"
        )
    return declared.schema.columns, defaults


@contextmanager
def _wrong_schema(kind: type[SeaTunnelError]) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise kind(f"option 'schema': {error}") from None


def _with_values(rows: pa.RecordBatch, values: Mapping[str, str | None]) -> pa.RecordBatch:
    """Add string columns with one constant value each."""
    for name, value in values.items():
        if name not in rows.schema.names:
            column = pa.nulls(rows.num_rows, pa.string()) if value is None else pa.repeat(value, rows.num_rows)
            rows = rows.append_column(pa.field(name, pa.string()), column)
    return rows
