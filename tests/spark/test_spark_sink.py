"""The sink ``Spark``: writers of PySpark and data sources in Python, by the kit and in a whole job that is killed."""

import json
import re
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
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

import seatunnel_core as st
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.connectors import registry
from seatunnel_core.connectors.sink import Guarantee, SinkPlace
from seatunnel_core.connectors.spark_writer import SparkSink
from seatunnel_core.connectors.testing import SinkConformance, options_of
from seatunnel_core.connectors.testing.drive import commit, place, shipped, sink_place, stage
from seatunnel_core.connectors.testing.kill_suite import SCHEMA, _Life, numbered
from seatunnel_core.errors import CommitError, JobError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.runtime.check import check_report
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.runtime.plan import plan_job
from seatunnel_core.runtime.report import JobOutcome
from seatunnel_core.spark.plane import SparkPlane
from tests.runtime.command import engine_file, fake_source, staged
from tests.runtime.command import job as job_text
from tests.runtime.ground import ALL, ROWS, WAIT_S, committed, until

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """What another program finds in a target; Spark's own files beside the rows are left out."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.parquet")):
        found += pq.ParquetFile(path).read().to_pylist()
    for path in sorted(folder.rglob("*.json")):
        found += map(json.loads, path.read_text("utf-8").splitlines())
    return found


def ids(folder: Path) -> list[int]:
    return sorted(row["id"] for row in rows_in(folder))


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


class OnPlane(SparkSink):
    """The sink as the runtime calls it, so that the kit can: what needs Spark goes through the plane of the tests."""

    plane: ClassVar[SparkPlane]

    def create_tables(self, schemas: Sequence[TableSchema], place: SinkPlace) -> None:
        self.plane.begin(self, schemas, place)

    def commit(self, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        self.plane.publish(self, committables, place, again=again)


@pytest.fixture(autouse=True)
def on_plane(request: pytest.FixtureRequest) -> None:
    if "plane" in request.fixturenames:
        OnPlane.plane = request.getfixturevalue("plane")


def sink(folder: Path, **values: Any) -> OnPlane:
    made = {"format": "parquet", "path": f"{folder}/out", "staging_path": f"{folder}/staging", **values}
    return OnPlane(options_of(SparkSink, {key: value for key, value in made.items() if value is not None}))


def started(made: OnPlane, **where: Any) -> OnPlane:
    """At the first start of a job."""
    made.prepare(sink_place(place(**where)))
    made.apply_save_mode(sink_place(place(**where)))
    return made


@pytest.mark.torture
@pytest.mark.usefixtures("plane")
class TestByTheKit(SinkConformance):
    """But for the kills: a commit that is broken off may write again, and the kit wants every row once."""

    sink_class = OnPlane
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


def test_what_is_written_and_not_noted_is_written_again(plane: SparkPlane, tmp_path: Path) -> None:
    """As the documentation says: a kill between the write and the removal of what was staged."""
    made = started(sink(tmp_path))
    first = stage(made, SCHEMA, [numbered(0, 2)], place())
    (file,) = staged(tmp_path / "staging")
    kept = file.read_bytes()
    commit(made, [first], place())
    file.write_bytes(kept)
    second = stage(made, SCHEMA, [numbered(10, 2)], place(unit=2))
    commit(sink(tmp_path), [first, second], place(epoch=2), again=True)
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


def test_every_type_arrives_as_it_was(plane: SparkPlane, tmp_path: Path) -> None:
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
def test_a_type_that_spark_lacks_is_told_before_data_moves(
    plane: SparkPlane, tmp_path: Path, name: str, kind: pa.DataType
) -> None:
    columns = TableSchema(table="t", columns=pa.schema([(name, kind)]))
    with pytest.raises(SinkError, match=f"pipeline 1, sink Spark: column '{name}' of table 't' has the type"):
        started(sink(tmp_path)).create_tables((columns,), sink_place(place()))


def test_a_data_source_in_python_is_written(plane: SparkPlane, tmp_path: Path) -> None:
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


def test_a_table_of_sparks_catalog_is_written(plane: SparkPlane, tmp_path: Path) -> None:
    made = started(sink(tmp_path, path=None, table="people_of_spark_sink", options={"path": f"{tmp_path}/out"}))
    commit(made, [stage(made, SCHEMA, [numbered(0, 3)], place())], place())
    spark = SparkSession.builder.getOrCreate()
    assert spark.table("people_of_spark_sink").count() == 3
    spark.sql("DROP TABLE people_of_spark_sink")


def test_the_mode_counts_once_and_partitions_are_made(plane: SparkPlane, tmp_path: Path) -> None:
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


def test_files_of_other_columns_are_written_apart(plane: SparkPlane, tmp_path: Path) -> None:
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
def test_what_is_wrong_is_told_before_data_moves(plane: SparkPlane, tmp_path: Path, case: str) -> None:
    values, message = WRONG[case]
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    made = sink(tmp_path, **{key: value and value.format(folder=tmp_path) for key, value in values.items()})
    with pytest.raises(SinkError, match=rf"pipeline 1, sink Spark: .*{re.escape(message)}"):
        started(made).create_tables((SCHEMA,), sink_place(place()))
    assert not staged(tmp_path / "staging")


def test_a_target_that_this_job_made_is_no_mistake(plane: SparkPlane, tmp_path: Path) -> None:
    """Of a pipeline that starts again before its first checkpoint."""
    made = started(sink(tmp_path, mode="errorifexists"))
    made.create_tables((SCHEMA,), sink_place(place()))
    started(made, epoch=2).create_tables((SCHEMA,), sink_place(place(epoch=2)))


def test_tables_with_other_columns_are_refused(plane: SparkPlane, tmp_path: Path) -> None:
    other = TableSchema(table="other", columns=pa.schema([("id", pa.int32())]))
    with pytest.raises(SinkError, match="the table other has other columns than a table before it"):
        sink(tmp_path).check_schemas((SCHEMA, other))
    made = started(sink(tmp_path))
    made.create_tables((SCHEMA,), sink_place(place()))
    with pytest.raises(SinkError, match="the table other has other columns"):
        made.create_tables((other,), sink_place(place()))


def test_changes_are_refused_and_tasks_get_no_secrets(tmp_path: Path) -> None:
    made = sink(tmp_path, options={"password": "geheim"})
    made.prepare(sink_place(place()))
    assert shipped(made).options is None
    writer = shipped(made).open_writer((SCHEMA,), place())
    with pytest.raises(RowError, match="a DataFrame has inserted ones only"):
        writer.write(Batch(table="default", rows=numbered(0, 1), kinds=pa.array([3], pa.int8())))
    writer.abort()
    assert staged(tmp_path) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": None}, "say what to write"),
        ({"data_source": "builtins:len"}, "is no Python Data Source"),
        ({"table": "t"}, "option 'table': it stands beside path"),
        ({"staging_path": "/data/out/x", "path": "file:///data/out"}, "'staging_path': /data/out/x lies within path"),
        ({"staging_path": "/data/[a]"}, r"'staging_path': '/data/\[a\]' has \[ \], which Spark takes for a pattern"),
    ],
)
def test_what_is_missing_is_said_when_the_job_is_planned(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sink(tmp_path, **values)


def planned(folder: Path, more: str) -> Any:
    text = f'Spark {{ format = parquet, path = "{folder}/out", staging_path = "{folder}/staging", {more} }}'
    (folder / "job.conf").write_text(job_text("job.mode = BATCH", [fake_source("a", rows=10)], [text]))
    engine = load_engine(environment={}, folder=folder)
    return plan_job(load_job(folder / "job.conf"), registry, engine, look=True), engine


def test_no_more_is_promised_than_is_kept(tmp_path: Path) -> None:
    (pipeline,) = planned(tmp_path, "")[0].pipelines
    assert pipeline.on_frames
    said = check_report(*planned(tmp_path, ""))
    assert re.search(
        r"guarantee: at-least-once, because the sink 'Spark-sink-.' \(Spark\) writes a checkpoint's rows again", said
    )
    said = check_report(*planned(tmp_path, "idempotent = true"))
    assert "guarantee: idempotent" in said
    assert "that this changes nothing is what its option idempotent says" in said
    for more in ("", ", idempotent = true"):
        with pytest.raises(
            JobError, match=r"asks for exactly-once, and its pipeline gives .* writes a checkpoint's rows"
        ):
            planned(tmp_path, f"exactly_once = true{more}")
    with pytest.raises(JobError, match=r"cannot take the rows .* 'partition_by': .* no column 'nam'"):
        check_report(*planned(tmp_path, "partition_by = [nam]"))
    assert registry.sink("spark").guarantee is Guarantee.AT_LEAST_ONCE


def test_a_job_that_would_overwrite_what_it_reads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n")
    source = f'LocalFile {{ path = "{tmp_path}/in", file_format_type = csv, schema {{ fields {{ id = bigint }} }} }}'
    sink = (
        f'Spark {{ format = parquet, path = "{tmp_path}/in", mode = overwrite, staging_path = "{tmp_path}/staging" }}'
    )
    (tmp_path / "job.conf").write_text(job_text("job.mode = BATCH", [source], [sink]))
    with pytest.raises(
        JobError, match=r"it would delete its own input\. Write to another folder, or set mode = append"
    ):
        plan_job(load_job(tmp_path / "job.conf"), registry, load_engine(environment={}, folder=tmp_path))


def job_of(folder: Path, parallelism: int, **env: Any) -> tuple[st.Job, Path]:
    job = st.Job("spark-sink", {"checkpoint.interval": 200, "job.retry.times": 0, "parallelism": parallelism, **env})
    fake = {"row.num": ROWS // parallelism, "split.num": 24, "auto.increment.enabled": True}
    rows = job.source("FakeSource", {**fake, "schema": {"fields": {"id": "bigint", "text": "string"}}}, name="in")
    rows.sink("Spark", format="json", path=f"{folder}/out", staging_path=f"{folder}/staging", name="out")
    return job, engine_file(folder)


def test_a_killed_job_is_restored(plane: SparkPlane, tmp_path: Path) -> None:
    """The kill lets a commit that runs come to its end, which is then not recorded: so rows of one may come twice."""
    job, engine = job_of(tmp_path, 2, **{"read_limit.rows_per_second": 150})
    with job.submit(engine_config=engine) as first:
        until(lambda: committed(first._run) >= ROWS // 6, first._run)
        first._run.kill()
        killed = first.wait(WAIT_S)
        assert killed is not None
        assert killed.outcome is JobOutcome.STOPPED
    before = ids(tmp_path / "out")
    assert 0 < len(before) < ROWS
    job, engine = job_of(tmp_path, 2)
    with job.submit(restore=first.job_id, engine_config=engine) as second:
        (view,) = second.result().pipelines
    found = ids(tmp_path / "out")
    assert sorted(set(found)) == ALL
    assert view.rows_committed == ROWS
    assert set(Counter(found).values()) <= {1, 2}
    assert [row for row, count in Counter(found).items() if count == 2] == [] or len(found) - ROWS < len(before)
    assert list((tmp_path / "staging").iterdir()) == []


@pytest.mark.torture
@pytest.mark.parametrize("parallelism", [1, 2, 8])
def test_the_same_rows_at_every_parallelism(plane: SparkPlane, tmp_path: Path, parallelism: int) -> None:
    job, engine = job_of(tmp_path, parallelism)
    job.run(engine_config=engine)
    assert ids(tmp_path / "out") == ALL
    assert list((tmp_path / "staging").iterdir()) == []


def test_the_jobs_of_its_page_run(plane: SparkPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One writes with Spark what the other reads with Spark."""
    page = (Path(__file__).parents[2] / "docs" / "connectors" / "Spark.md").read_text("utf-8")
    jobs = re.findall(r"^```hocon\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(jobs) == 2
    engine = load_engine(engine_file(tmp_path))
    for number, job in enumerate(jobs):
        (tmp_path / "job.conf").write_text(job.replace("/data/", f"{tmp_path}/"))
        with JobRun(load_job(tmp_path / "job.conf"), engine, registry=registry, job_id=f"job-{number}") as run:
            run.start()
            report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FINISHED, report
    assert len(rows_in(tmp_path / "people")) == 100
    assert capsys.readouterr().out.count("kind=INSERT") == 100
