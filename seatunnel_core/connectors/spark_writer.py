"""The sink ``Spark``: any format that PySpark writes, including Python Data Sources.

Tasks stage rows in Parquet files of a separate folder. When a checkpoint is complete, Spark reads its staged rows and
writes them through its DataFrame writer; the staged files are removed only after that. A repeated commit therefore
duplicates only rows that an earlier commit wrote before it was interrupted.
"""

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.capabilities import SupportsProbe, SupportsSaveMode
from seatunnel_core.connector_api.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, STRING, Option, Options
from seatunnel_core.connector_api.sink import (
    FrameSink,
    Guarantee,
    SaveMode,
    SinkContext,
    SinkWriter,
    Staged,
    WriterContext,
)
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors import spark_reader as of_source
from seatunnel_core.connectors.additions import AddingSink, files_in_words
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.filesystems.local import absolute, local_path, named_path, sync_file
from seatunnel_core.connectors.staging.committed import staged_files
from seatunnel_core.connectors.staging.lost_table import lost
from seatunnel_core.connectors.staging.target import Target, unique_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = evolve(
    of_source.FORMAT, doc="Argument of DataFrame.write.format: jdbc, parquet, or a registered Python Data Source."
)
DATA_SOURCE = evolve(
    of_source.DATA_SOURCE,
    doc='Python Data Source to register: in the Python API its class, in a job file "package.module:Name". If format '
    "is unset, it is also the format to write.",
)
PATH = Option("path", STRING, doc="Argument of save, for formats that write files or tables by path.")
TABLE = Option("table", STRING, doc="Argument of saveAsTable: a table in Spark's catalog; use it instead of path.")
MODE = Option(
    "mode",
    ENUM("append", "overwrite", "errorifexists"),
    default="append",
    doc="Handling of existing content when the job first starts; after that, rows are appended.",
)
PARTITION_BY = Option("partition_by", LIST(STRING), doc="Columns for partitionBy.")
STAGING_PATH = Option(
    "staging_path",
    STRING,
    required=True,
    doc="Folder, shared by all workers and the driver, for rows that wait for their checkpoint. It must survive "
    "a crash of the machine, and must not be inside path.",
)
IDEMPOTENT = Option(
    "idempotent",
    BOOLEAN,
    default=False,
    doc="True to state that writing rows again changes nothing, as in an upsert by key; the engine cannot check "
    "this. If false, rows may be duplicated after a failure.",
)

_making = threading.Lock()
_made: set[tuple[str, int, str]] = set()
"""Targets that this process has created, each identified by job ID, process number and save-mode target."""

_PATTERN_SIGNS = set("{}[]*?\\")


class SparkSink(AddingSink, FrameSink, SupportsProbe, SupportsSaveMode):
    """Writes the rows of a checkpoint when it is complete; an interrupted commit is repeated in full."""

    identifier: ClassVar[str] = "Spark"
    isolates_bad_rows = True
    declared: ClassVar[tuple[Option[Any], ...]] = (
        FORMAT,
        DATA_SOURCE,
        of_source.OPTIONS,
        PATH,
        TABLE,
        MODE,
        PARTITION_BY,
        STAGING_PATH,
        IDEMPOTENT,
    )
    example: ClassVar[str] = 'format = "parquet", path = "/data/people", staging_path = "/data/staging"'
    guarantee = Guarantee.AT_LEAST_ONCE
    defers_save_mode = True
    expires_commit_records = False

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._data_source: Any = options[DATA_SOURCE]
        of_source.check_data_source(self._data_source)
        if options[FORMAT] is None and self._data_source is None and options[TABLE] is None:
            raise UsageError(
                "the format is missing; set format (for example parquet or jdbc), data_source (a Python class) or table"
            )
        if options[PATH] is not None and options[TABLE] is not None:
            raise UsageError("option 'table': cannot be combined with path; remove one of the two")
        self.root = self._checked_root()
        self._makes_target = self._made_target = False
        """True if the target must be created, and (``_made_target``) if this process has created it."""

        self._columns: pa.Schema | None = None
        self.weakness = "may write a checkpoint's rows again if it is stopped before it records the write"
        if options[IDEMPOTENT]:
            self.guarantee = Guarantee.IDEMPOTENT  # set by the user for this target
            self.weakness += "; the option idempotent states that this changes nothing"

        self._table: str | None = options[TABLE]

    def __getstate__(self) -> dict[str, Any]:
        """Omit the options, which may contain passwords, and the data source class: only the driver uses them."""
        return {**self.__dict__, "options": None, "_data_source": None}

    @property
    def target_folder(self) -> str:
        return self.root

    @property
    def bound_to(self) -> Mapping[str, str]:
        options = (FORMAT, of_source.OPTIONS, PATH, TABLE, PARTITION_BY)
        return {**written_options(self.options, *options), STAGING_PATH.key: self.root}

    @property
    def save_mode(self) -> SaveMode | None:
        written = written_options(self.options, FORMAT, of_source.OPTIONS, TABLE)
        target = self._local_target or self.options[PATH] or ", ".join(f"{k}={v}" for k, v in sorted(written.items()))
        mode = self.options[MODE]
        return SaveMode(
            target=target,
            does="" if mode == "append" else mode,
            emptied_folder=self._local_target if mode == "overwrite" else None,
        )

    @property
    def _local_target(self) -> str | None:
        path = self.options[PATH]
        return None if path is None or "://" in local_path(path) else absolute(local_path(path))

    def _checked_root(self) -> str:
        root = absolute(named_path(self.options[STAGING_PATH]))
        if signs := _PATTERN_SIGNS.intersection(root):
            raise UsageError(
                f"option 'staging_path': {root!r} contains {' '.join(sorted(signs))}, which Spark treats as a pattern"
            )
        target = self._local_target
        if target and os.path.commonpath(list(map(os.path.realpath, (target, root)))) == os.path.realpath(target):
            raise UsageError(
                f"option 'staging_path': {root} is inside path, {target}, which Spark may replace as a whole; "
                "use a folder outside it"
            )
        return root

    def check_schema(self, schema: TableSchema) -> None:
        require_columns(PARTITION_BY.key, self.options[PARTITION_BY] or (), schema)

    def check_schemas(self, schemas: Sequence[TableSchema]) -> None:
        super().check_schemas(schemas)
        for schema in schemas:
            _refuse_other(schemas[0].columns, schema)

    # -- in the driver --------------------------------------------------------------------------------------------

    def prepare(self, context: SinkContext) -> None:
        self._target(context).create(context)

    def probe(self, context: SinkContext, token: str) -> None:
        self._target(context).probe(context.epoch, token)

    def prove(self, context: SinkContext, token: str) -> None:
        self._target(context).prove(context.epoch, token)

    def apply_save_mode(self, context: SinkContext) -> None:
        """Record the request. ``begin`` creates the target once the columns are known."""
        self._makes_target = not self._made_target

    def begin(self, empty: "DataFrame", schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Create the target by writing an empty DataFrame in the configured ``mode``. Spark then reports errors."""
        self.check_schemas(schemas)
        if self._columns is not None:
            _refuse_other(self._columns, schemas[0])
        self._require_target(empty.sparkSession, context, SinkError)
        if self._makes_target:
            with _making:
                self._make_once(empty, context)
        self._columns, self._made_target, self._makes_target = schemas[0].columns, True, False

    def _make_once(self, empty: "DataFrame", context: SinkContext) -> None:
        """Create the target unless another pipeline of this process has created it."""
        assert self.save_mode is not None
        target = (context.job_id, context.process, self.save_mode.target)
        if target not in _made:
            there = self._rows_in_words(empty) if self.options[MODE] == "append" else ""
            self.adds_to = {"": there} if there else {}
            self._write(empty, self.options[MODE])
            _made.add(target)

    def _require_target(self, spark: "SparkSession", context: SinkContext, kind: type[SinkError]) -> None:
        """Raise ``kind`` if a table with published rows no longer exists, because Spark would recreate it."""
        table = self.options[TABLE]
        lasts = spark.conf.get("spark.sql.catalogImplementation") == "hive" or (table or "").count(".") > 1
        if lasts and table and context.has_published_to(table) and not spark.catalog.tableExists(table):
            raise kind(lost(self._target(context).who, table, exists=False))

    def _rows_in_words(self, empty: "DataFrame") -> str:
        """Describe the content of a local folder or a table, in the format of ``adds_to``; empty if there is none."""
        spark, table = empty.sparkSession, self.options[TABLE]
        if table is not None:
            has_rows = spark.catalog.tableExists(table) and not spark.table(table).isEmpty()
            return f"the table {table}, which had rows" if has_rows else ""
        files = (name for _, _, names in os.walk(self._local_target or "") for name in names)
        return files_in_words(sum(not name.startswith((".", "_")) for name in files))

    def publish(
        self,
        spark: "SparkSession",
        committables: Sequence[Committable],
        context: SinkContext,
        *,
        may_be_committed: bool,
    ) -> None:
        target = self._target(context)
        target.require_for_commit(context.epoch)
        self._require_target(spark, context, CommitError)
        by_columns: dict[str, list[str]] = {}
        for file in (file for committable in committables for file in staged_files(committable, target)):
            waiting = target.waiting(file.epoch, file.name, may_be_committed=may_be_committed)
            if waiting is not None:
                by_columns.setdefault(_columns_in(file.name), []).append(waiting)
        for paths in by_columns.values():
            rows = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(*(f"file://{path}" for path in paths))
            self._write(rows, "append")
            for path in paths:
                with suppress(FileNotFoundError):  # an earlier process that resumed has just done the same
                    os.unlink(path)

    def _write(self, rows: "DataFrame", mode: str) -> None:
        format = self.options[FORMAT]
        if self._data_source is not None:
            rows.sparkSession.dataSource.register(self._data_source)
            format = format or self._data_source.name()
        writer = rows.write.mode(mode).options(**(self.options[of_source.OPTIONS] or {}))
        writer = writer if format is None else writer.format(format)
        writer = writer.partitionBy(*self.options[PARTITION_BY]) if self.options[PARTITION_BY] else writer
        if self.options[TABLE] is not None:
            writer.saveAsTable(self.options[TABLE])
        else:
            writer.save(self.options[PATH])

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return self._target(context).sweep(context.epoch + final, keep)

    def clear(self, context: SinkContext) -> None:
        self._target(context).clear(context.epoch)

    def _target(self, context: SinkContext | WriterContext) -> Target:
        return Target.of(self.root, context, self.identifier)

    # -- in tasks -------------------------------------------------------------------------------------------------

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "ParquetStager":
        return ParquetStager(self._target(context), schemas[0].columns, context, self._table)


class ParquetStager(SinkWriter):
    """Writer for a Parquet file in the staging folder, with the types that Spark reads."""

    def __init__(self, target: Target, columns: pa.Schema, context: WriterContext, table: str | None) -> None:
        self._tables = {} if table is None else {table: ""}
        self._target = target
        self._epoch = context.epoch
        self._name = f"rows-{unique_name(context)}-{_fingerprint(columns)}.parquet"
        self._path = os.path.join(target.staging(context.epoch), self._name)
        self._rows = 0
        target.require(context.epoch)
        try:
            self._file = pq.ParquetWriter(
                self._path,
                columns,
                coerce_timestamps="us",
                store_decimal_as_integer=True,
            )
        except OSError as error:
            raise target.failed("cannot be written", error, self._path) from error

    def write(self, batch: Batch) -> None:
        if not batch.inserts_only:
            raise RowError(
                f"{self._target.who}: the table {batch.table} has updated or deleted rows, but a DataFrame can "
                "contain only inserted rows; select the rows to keep with the FilterRowKind transform"
            )
        try:
            self._file.write_batch(batch.rows)
        except pa.ArrowInvalid as error:
            raise RowError(
                f"{self._target.who}: a row of {batch.table} cannot be staged for Spark, which stores timestamps "
                f"with microseconds only: {error}"
            ) from error
        except OSError as error:
            raise self._target.failed("cannot be written", error, self._path) from error
        self._rows += batch.rows.num_rows

    def finish(self) -> Staged:
        try:
            self._file.close()
            sync_file(self._path)
            self._target.make_durable(self._epoch)
            size = os.stat(self._path).st_size
        except OSError as error:
            raise self._target.failed("cannot be written", error, self._path) from error
        return Staged(body={"files": [[self._name, ""]]}, rows=self._rows, bytes=size, tables=self._tables)

    def abort(self) -> None:
        with suppress(Exception):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._path)


def _refuse_other(columns: pa.Schema, schema: TableSchema) -> None:
    if not columns.equals(schema.columns):
        raise SinkError(
            f"the table {schema.table} has different columns than an earlier table, but all rows of this sink go "
            "into one target; make the columns equal, or use a separate sink for each table"
        )


def _fingerprint(columns: pa.Schema) -> str:
    """Return a hash of the columns. Spark reads files with different columns separately."""
    return hashlib.sha256(columns.remove_metadata().serialize()).hexdigest()[:12]


def _columns_in(name: str) -> str:
    return name.removesuffix(".parquet").rpartition("-")[2]
