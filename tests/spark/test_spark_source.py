"""The source ``Spark``: readers of PySpark and data sources in Python, on the DataFrame path and in a whole job."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from watched import Doubled, Folder, numbers_unit, staged_numbers

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.connector_api.source import FrameSource
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.transform import DataFrameTransform
from seatunnel_core.connectors.spark_reader import SparkSource
from seatunnel_core.errors import PacketLostError, SourceError, UsageError
from seatunnel_core.planning.guarantee import weakest
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target, build_chain
from seatunnel_core.work.unit import UnitAttempt
from seatunnel_storage_api.discovery import open_storage

cloudpickle.register_pickle_by_value(sys.modules[__name__])


class CountingReader(DataSourceReader):
    def __init__(self, up_to: int) -> None:
        self.up_to = up_to

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        if self.up_to < 0:
            raise ValueError("cannot count backwards")
        yield from ((number,) for number in range(partition.value, self.up_to, 2))


class CountingSource(DataSource):
    """Written with PySpark alone: 0 to ``upTo``, in two partitions."""

    @classmethod
    def name(cls) -> str:
        return "counting"

    def schema(self) -> str:
        return "n long"

    def reader(self, schema: Any) -> DataSourceReader:
        return CountingReader(int(self.options["upTo"]))


class Few(DataFrameTransform):
    identifier = "Few"
    declared = ()

    def __init__(self) -> None:
        pass

    def apply(self, frame: Any, schema: TableSchema) -> Any:
        return frame.where("n < 5")


def source(**values: Any) -> SparkSource:
    return SparkSource(options_of(SparkSource, values))


def chain_of(backend: SparkBackend, made: FrameSource, targets: dict[str, Path], *steps: Step) -> OperatorChain:
    """Each target stands behind the node of its name."""
    return build_chain(
        job_id="job",
        pipeline_id=1,
        source_name="in",
        source_ordinal=0,
        source=made,
        schemas=(backend.source_schema(made),),
        steps=steps,
        targets=[
            Target(name=f"behind {node}", ordinal=number, sink=Folder(folder), inputs=(node,))
            for number, (node, folder) in enumerate(targets.items())
        ],
        frame_plan=backend.frame_plan,
    )


def run(backend: SparkBackend, chain: OperatorChain) -> Any:
    unit = evolve(numbers_unit(1), splits=numbers_unit(1).splits[:1])
    return backend.run_on_frames(chain, UnitAttempt(unit=unit, epoch=100_000, number=1), backend.new_tag())


def test_a_python_data_source_is_read_by_every_way_behind_it(backend: SparkBackend, tmp_path: Path) -> None:
    """A sink at once, one behind an Arrow transform, and one behind DataFrames."""
    targets = {name: tmp_path / name for name in ("in", "double", "few")}
    for folder in targets.values():
        folder.mkdir()
    steps = (
        Step(name="double", transform=Doubled(), inputs=("in",)),
        Step(name="few", transform=Few(), inputs=("double",)),
    )
    made = source(data_source=CountingSource, options={"upTo": "10"})
    result = run(backend, chain_of(backend, made, targets, *steps))
    assert result.failure is None
    assert result.rows_read == 10
    doubled = sorted(2 * list(range(10)))
    wanted = {"in": list(range(10)), "double": doubled, "few": [number for number in doubled if number < 5]}
    for name, numbers in wanted.items():
        assert staged_numbers(targets[name], [result.committables[f"behind {name}"]]) == numbers


def test_a_reader_of_spark_gives_its_columns(backend: SparkBackend, tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text('{"name": "Ada", "born": 1815}\n')
    found = backend.source_schema(source(format="json", path=str(tmp_path / "people.json"), table="people"))
    assert (found.table, found.columns) == ("people", pa.schema([("born", pa.int64()), ("name", pa.string())]))
    typed = backend.source_schema(source(format="json", path=str(tmp_path), schema="name STRING"))
    assert typed.columns == pa.schema([("name", pa.string())])


def test_what_spark_refuses_is_the_sources_error(backend: SparkBackend) -> None:
    with pytest.raises(SourceError, match=r"Spark: .*no-such-format"):
        backend.source_schema(source(format="no-such-format"))


@pytest.mark.parametrize(
    ("up_to", "message"),
    [("many", r"ValueError: invalid literal for int\(\) .* 'many'"), ("-1", "ValueError: cannot count backwards")],
)
def test_an_error_in_a_python_data_source_is_reported(
    backend: SparkBackend, tmp_path: Path, up_to: str, message: str
) -> None:
    (tmp_path / "in").mkdir()
    made = source(data_source=CountingSource, options={"upTo": up_to})
    with pytest.raises(PacketLostError, match=message):
        run(backend, chain_of(backend, made, {"in": tmp_path / "in"}))


def test_columns_that_changed_since_the_job_began_are_refused(backend: SparkBackend, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    chain = chain_of(backend, source(data_source=CountingSource, options={"upTo": "3"}), {"in": tmp_path / "in"})
    (tmp_path / "people.json").write_text('{"n": "one"}\n')
    changed = evolve(chain, source=source(format="json", path=str(tmp_path / "people.json")))
    result = run(backend, changed)
    assert "default has different columns than when the job started" in result.failure.message


def test_a_pipeline_reads_it_as_one_split_of_columns_that_are_kept(backend: SparkBackend, tmp_path: Path) -> None:
    made = source(data_source=CountingSource, options={"upTo": "3"}, table="numbers")
    planned = PlannedPipeline(
        id=1,
        sources=(PlannedSource(name="in", ordinal=0, source=made, parallelism=4),),
        transforms=(),
        sinks=(PlannedSink(name="out", ordinal=0, sink=Folder(tmp_path), inputs=("in",)),),
    )
    with open_storage("hdfs", {"namespace": f"{tmp_path}/state/"}) as storage:
        work = PipelineIO(job_id="job", planned=planned, storage=storage, backend=backend, shares_disk=True)
        found, attachment = work.sources.enumerate("in", None, (), {})
        again, _ = work.sources.enumerate("in", attachment, (), {})
    assert planned.on_frames
    assert [split.index for split in again.splits] == [0]
    assert again.schemas == found.schemas == (TableSchema(table="numbers", columns=pa.schema([("n", pa.int64())])),)


@pytest.mark.parametrize("replayable", [True, False])
def test_no_more_is_promised_than_the_person_says(tmp_path: Path, replayable: bool) -> None:
    job = tmp_path / "job.conf"
    job.write_text(
        f"source {{ Spark {{ format = json, replayable = {str(replayable).lower()} }} }}\n"
        f'sink {{ LocalFile {{ path = "{tmp_path}/out" }} }}\n'
    )
    (pipeline,) = plan_job(load_job(job), lookup, load_engine(environment={}, folder=tmp_path)).pipelines
    assert weakest(pipeline).guarantee is (Guarantee.EXACTLY_ONCE if replayable else Guarantee.AT_LEAST_ONCE)


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "the format is missing"), ({"data_source": "builtins:len"}, "is not a Python Data Source")],
)
def test_what_is_missing_is_said_when_the_job_is_planned(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        source(**values)
