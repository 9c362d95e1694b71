"""The sink ``Spark``: writers of PySpark and data sources in Python, and what comes twice after a kill."""

import contextlib
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.testing import SinkConformance, options_of
from seatunnel_core.connector_api.testing.drive import commit, place, shipped, sink_place, stage
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, _Life, numbered
from seatunnel_core.connectors.additions import additions
from seatunnel_core.connectors.spark_writer import ParquetStager, SparkSink
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.work.committable import Committable
from tests.runtime.command import ids, staged

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """What another program finds in a target; Spark's own files beside the rows are left out."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.parquet")):
        found += pq.ParquetFile(path).read().to_pylist()
    for path in sorted(folder.rglob("*.json")):
        found += map(json.loads, path.read_text("utf-8").splitlines())
    return found


class JsonWriter(DataSourceWriter):
    def __init__(self, folder: Path, overwrite: bool) -> None:
        self.folder = folder
        self.overwrite = overwrite

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        rows = [row.asDict() for row in iterator]
        if any(row["id"] == 666 for row in rows):
            raise ValueError("666 is not wanted here")
        if rows:
            (self.folder / f"{rows[0]['id']}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self.overwrite:
            (self.folder / "_OVERWRITTEN").touch()


class JsonFolder(DataSource):
    """Written with PySpark alone: a file of JSON lines for each partition."""

    @classmethod
    def name(cls) -> str:
        return "jsonfolder"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return JsonWriter(Path(self.options["folder"]), overwrite)


class OnBackend(SparkSink):
    """The sink as the runtime calls it, so that the kit can: what needs Spark goes through the backend of the tests."""

    backend: ClassVar[SparkBackend]

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        self.backend.begin(self, schemas, context)

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        self.backend.publish(self, committables, context, may_be_committed=may_be_committed)


@pytest.fixture(autouse=True)
def on_backend(request: pytest.FixtureRequest) -> None:
    if "backend" in request.fixturenames:
        OnBackend.backend = request.getfixturevalue("backend")


def sink(folder: Path, **values: Any) -> OnBackend:
    made = {"format": "parquet", "path": f"{folder}/out", "staging_path": f"{folder}/staging", **values}
    return OnBackend(options_of(SparkSink, {key: value for key, value in made.items() if value is not None}))


def started(made: OnBackend, **where: Any) -> OnBackend:
    """At the first start of a job."""
    made.prepare(sink_place(place(**where)))
    made.apply_save_mode(sink_place(place(**where)))
    return made


@pytest.mark.torture
@pytest.mark.usefixtures("backend")
class TestByTheKit(SinkConformance):
    """But for the kills: a commit that is broken off may write again, and the kit wants every row once."""

    sink_class = OnBackend
    test_killed_between_any_two_lines_it_has_every_row_once = None  # type: ignore[assignment]

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def options(self) -> Mapping[str, Any]:
        return {"format": "parquet", "path": f"{self.folder}/out", "staging_path": f"{self.folder}/staging"}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        return rows_in(self.folder / "out")

    def staged(self) -> int:
        return len(staged(self.folder / "staging"))

    def lose(self) -> bool:
        shutil.rmtree(self.folder / "staging")
        return True

    def test_killed_between_any_two_lines_it_has_every_row_and_repeats_units_only(self) -> None:
        lines = _Life(self, 0).live(epoch=1).lines
        moments = range(1, lines, max(1, lines // 25))
        for job, moment in enumerate(moments, 1):
            life = _Life(self, job)
            life.live(epoch=1, kill_at=moment)
            life.live(epoch=2, kill_at=1 + moment * 7 % lines)
            life.live(epoch=3)
            assert self.staged() == 0
        found = Counter(int(row["id"]) for row in self.visible())
        assert set(found) == {
            job * 1000 + unit * 10 + n for job in range(len(moments) + 1) for unit in (1, 2, 3) for n in range(3)
        }
        assert max(found.values()) <= 3, "each kill repeats a unit once"
        for number, count in found.items():
            assert count == found[number // 10 * 10], "all rows of a unit come as often as the others"


def test_what_is_written_and_not_noted_is_written_again(backend: SparkBackend, tmp_path: Path) -> None:
    """As the documentation says: a kill between the write and the removal of what was staged."""
    made = started(sink(tmp_path))
    first = stage(made, SCHEMA, [numbered(0, 2)], place())
    (file,) = staged(tmp_path / "staging")
    kept = file.read_bytes()
    commit(made, [first], place())
    file.write_bytes(kept)
    second = stage(made, SCHEMA, [numbered(10, 2)], place(unit=2))
    commit(started(sink(tmp_path), epoch=2), [first, second], place(epoch=2), may_be_committed=True)
    assert ids(tmp_path / "out") == [0, 0, 1, 1, 10, 11]
    assert staged(tmp_path / "staging") == []


COLUMNS = {
    "s": (pa.string(), "ñ"),
    "b": (pa.bool_(), True),
    "i8": (pa.int8(), -3),
    "i64": (pa.int64(), 2**62),
    "f": (pa.float32(), 0.5),
    "d": (pa.decimal128(12, 3), Decimal("1.234")),
    "wide": (pa.decimal128(38, 5), Decimal("12345678901234567890.12345")),
    "bytes": (pa.binary(), b"\x00\xff"),
    "day": (pa.date32(), date(1, 1, 1)),
    "local": (pa.timestamp("us"), datetime(1, 1, 1, 2, 3, 4, 5)),
    "nanos": (pa.timestamp("ns"), datetime(2001, 1, 1, 2, 3, 4, 5)),
    "moment": (pa.timestamp("us", tz="UTC"), datetime(1500, 2, 3, tzinfo=UTC)),
    "list": (pa.list_(pa.int32()), [1, None]),
    "map": (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    "row": (pa.struct([("a", pa.int8()), ("b", pa.timestamp("us"))]), {"a": 1, "b": None}),
    "odd name, =;{}": (pa.int64(), 7),
}


def test_every_type_arrives_as_it_was(backend: SparkBackend, tmp_path: Path) -> None:
    """Moments as microseconds, because a reader of Spark's older form has no year 1500."""
    columns = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
    rows = [{name: value for name, (_, value) in COLUMNS.items()}, dict.fromkeys(COLUMNS)]
    table = TableSchema(table="t", columns=columns)
    made = started(sink(tmp_path))
    made.create_tables((table,), sink_place(place()))
    SparkSession.builder.getOrCreate().conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    committable = stage(made, table, [pa.RecordBatch.from_pylist(rows, schema=columns)], place())
    commit(made, [committable], place())
    assert rows_in(tmp_path / "out") == rows


@pytest.mark.parametrize(("name", "kind"), [("n", pa.decimal256(50, 2)), ("u", pa.uint32())])
def test_a_type_that_spark_lacks_is_reported_before_data_moves(
    backend: SparkBackend, tmp_path: Path, name: str, kind: pa.DataType
) -> None:
    columns = TableSchema(table="t", columns=pa.schema([(name, kind)]))
    with pytest.raises(SinkError, match=f"pipeline 1, sink Spark: column '{name}' of table 't' has the type"):
        started(sink(tmp_path)).create_tables((columns,), sink_place(place()))


def test_a_data_source_in_python_is_written(backend: SparkBackend, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    options = {"folder": f"{tmp_path}/out"}
    made = started(sink(tmp_path, format=None, path=None, data_source=JsonFolder, mode="overwrite", options=options))
    both = [stage(made, SCHEMA, [numbered(unit * 10, 3)], place(unit=unit)) for unit in (1, 2)]
    commit(made, both, place())
    assert (tmp_path / "out" / "_OVERWRITTEN").exists()
    (tmp_path / "out" / "_OVERWRITTEN").unlink()
    assert ids(tmp_path / "out") == [10, 11, 12, 20, 21, 22]
    bad = stage(made, SCHEMA, [numbered(666, 1)], place(unit=3))
    with pytest.raises(CommitError, match=r"sink Spark: .*ValueError: 666 is not wanted here") as failed:
        commit(made, [bad], place())
    assert failed.value.retryable
    assert len(staged(tmp_path / "staging")) == 1, "what was not written waits"


def begun(made: OnBackend, job: str) -> OnBackend:
    """Whose target is made, at the first start of a job."""
    started(made, job_id=job).create_tables((SCHEMA,), sink_place(place(job_id=job)))
    return made


def test_a_table_of_sparks_catalog_is_written(backend: SparkBackend, tmp_path: Path) -> None:
    values = {"path": None, "table": "people_of_spark_sink", "options": {"path": f"{tmp_path}/out"}}
    made = begun(sink(tmp_path, **values), "job")
    commit(made, [stage(made, SCHEMA, [numbered(0, 3)], place())], place())
    spark = SparkSession.builder.getOrCreate()
    assert spark.table("people_of_spark_sink").count() == 3
    assert additions(made, 3, {}) == ()
    later = begun(sink(tmp_path, **values), "job2")
    assert additions(later, 3, {}) == ("3 rows added to the table people_of_spark_sink, which had rows",)
    spark.sql("DROP TABLE people_of_spark_sink")
    named = "spark_catalog.default.people_of_spark_sink"
    known = evolve(sink_place(place(job_id="job2", epoch=2)), published_to={named: ""})
    resumed = sink(tmp_path, **{**values, "table": named})
    resumed.prepare(known)
    said = f"the table {named} does not exist, but this job has committed rows to it"
    with pytest.raises(SinkError, match=said):
        resumed.create_tables((SCHEMA,), known)
    with pytest.raises(CommitError, match=said):
        resumed.commit([], known, may_be_committed=True)


def test_nanoseconds_that_spark_cannot_hold_are_refused(tmp_path: Path) -> None:
    """They were cut off without a word."""
    made = started(sink(tmp_path))
    columns = pa.schema([("at", pa.timestamp("ns"))])
    for value, fits in ((1_000, True), (1_001, False)):
        stager = ParquetStager(made._target(sink_place(place())), columns, place(), None)
        batch = Batch(table="t", rows=pa.record_batch([pa.array([value], pa.timestamp("ns"))], schema=columns))
        with contextlib.nullcontext() if fits else pytest.raises(RowError, match="would lose data: 1001"):
            stager.write(batch)


def test_the_mode_counts_once_and_partitions_are_made(backend: SparkBackend, tmp_path: Path) -> None:
    """What another program wrote goes when the job first starts, and no row of ours ever."""
    commit(first := started(sink(tmp_path)), [stage(first, SCHEMA, [numbered(0, 3)], place())], place())
    again = {"mode": "overwrite", "partition_by": "name"}
    made = started(sink(tmp_path, **again), job_id="job2")
    for unit in (1, 2):
        where = place(job_id="job2", unit=unit)
        commit(made, [stage(made, SCHEMA, [numbered(10 * unit, 2)], where)], where)
    started(made, job_id="job2", epoch=2).create_tables((SCHEMA,), sink_place(place(job_id="job2", epoch=2)))
    other = sink(tmp_path, **again)  # of a process that restores a checkpoint: its mode is done with
    other.create_tables((SCHEMA,), sink_place(place(job_id="job2", epoch=3)))
    assert ids(tmp_path / "out") == [10, 11, 20, 21]
    assert {path.name for path in (tmp_path / "out").glob("name=*")} == {f"name=name {n}" for n in (10, 11, 20, 21)}
    assert additions(made, 4, {}) == ()
    later = begun(sink(tmp_path, partition_by="name"), "job3")
    assert additions(later, 4, {}) == ("4 rows added to 4 existing files",)


def test_files_of_other_columns_are_written_apart(backend: SparkBackend, tmp_path: Path) -> None:
    """A job that was changed may publish what it staged before and after together."""
    made = started(sink(tmp_path))
    before = stage(made, SCHEMA, [numbered(0, 2)], place())
    wider = TableSchema(table="default", columns=pa.schema([*SCHEMA.columns, ("more", pa.int64())]))
    after = stage(sink(tmp_path), wider, [pa.record_batch([[7], ["x"], [8]], schema=wider.columns)], place(unit=2))
    commit(made, [before, after], place())
    assert Counter(row.get("more") for row in rows_in(tmp_path / "out")) == {None: 2, 8: 1}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a format that is not there": ({"format": "no-such-format"}, "Failed to find the data source: no-such-format"),
    "a format whose package is missing": ({"format": "avro"}, "Failed to find data source: avro"),
    "an option that is missing": ({"format": "jdbc", "path": None}, "Option 'url' is required"),
    "columns that the format cannot hold": ({"format": "text"}, "The Text datasource doesn't support the column `id`"),
    "a target below a file": ({"path": "{folder}/file/out"}, "Parent path is not a directory"),
    "a target that is there": ({"path": "{folder}/full", "mode": "errorifexists"}, "full already exists"),
    "a staging folder that cannot be": ({"staging_path": "{folder}/file"}, "/file cannot be written: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_reported_before_data_moves(backend: SparkBackend, tmp_path: Path, case: str) -> None:
    values, message = WRONG[case]
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    made = sink(tmp_path, **{key: value and value.format(folder=tmp_path) for key, value in values.items()})
    with pytest.raises(SinkError, match=rf"pipeline 1, sink Spark: .*{re.escape(message)}"):
        started(made).create_tables((SCHEMA,), sink_place(place()))
    assert not staged(tmp_path / "staging")


def test_a_target_that_this_job_made_is_no_mistake(backend: SparkBackend, tmp_path: Path) -> None:
    """Of a pipeline that starts again before its first checkpoint."""
    made = started(sink(tmp_path, mode="errorifexists"))
    made.create_tables((SCHEMA,), sink_place(place()))
    started(made, epoch=2).create_tables((SCHEMA,), sink_place(place(epoch=2)))


def test_tables_with_other_columns_are_refused(backend: SparkBackend, tmp_path: Path) -> None:
    other = TableSchema(table="other", columns=pa.schema([("id", pa.int32())]))
    with pytest.raises(SinkError, match="the table other has different columns than an earlier table"):
        sink(tmp_path).check_schemas((SCHEMA, other))
    made = started(sink(tmp_path))
    made.create_tables((SCHEMA,), sink_place(place()))
    with pytest.raises(SinkError, match="the table other has different columns"):
        made.create_tables((other,), sink_place(place()))


def test_changes_are_refused_and_tasks_get_no_secrets(tmp_path: Path) -> None:
    made = sink(tmp_path, options={"password": "geheim"})
    made.prepare(sink_place(place()))
    assert shipped(made).options is None
    writer = shipped(made).open_writer((SCHEMA,), place())
    with pytest.raises(RowError, match="a DataFrame can contain only inserted rows"):
        writer.write(Batch(table="default", rows=numbered(0, 1), kinds=pa.array([3], pa.int8())))
    writer.abort()
    assert staged(tmp_path) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": None}, "the format is missing"),
        ({"data_source": "builtins:len"}, "is not a Python Data Source"),
        ({"table": "t"}, "option 'table': cannot be combined with path"),
        ({"staging_path": "/data/out/x", "path": "file:///data/out"}, "'staging_path': /data/out/x is inside path"),
        (
            {"staging_path": "/data/[a]"},
            r"'staging_path': '/data/\[a\]' contains \[ \], which Spark treats as a pattern",
        ),
    ],
)
def test_what_is_missing_is_said_when_the_job_is_planned(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sink(tmp_path, **values)
