"""The DataFrame path gives what the fused path gives: the same committables, failures and counts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import watched
from pyspark.sql import SparkSession
from watched import Doubled, Folder, Numbers, numbers_chain, numbers_unit, staged_numbers

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.transform import DataFrameTransform
from seatunnel_core.errors import PacketLostError, TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.frames.frames import SparkFrames
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.transforms.data_validator import DataValidator
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


class Framed(DataFrameTransform):
    """Calls a function that cannot be pickled, as users' functions often cannot."""

    identifier = "Framed"
    declared = ()

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def apply(self, frame: Any, schema: TableSchema) -> Any:
        return self.function(frame)

    def __reduce__(self) -> Any:
        raise AssertionError("a DataFrame transform does not travel")


def step(name: str, function: Any, *inputs: str) -> Step:
    return Step(name=name, transform=Framed(function) if callable(function) else function, inputs=inputs)


def chain_with(backend: SparkBackend, folder: Path, *steps: Step, **more: Any) -> OperatorChain:
    return numbers_chain(folder, steps=steps, frame_plan=backend.frame_plan, **more)


def run(backend: SparkBackend, chain: OperatorChain, unit: WorkUnit) -> UnitResult:
    return backend.run_on_frames(chain, UnitAttempt(unit=unit, epoch=100_000, number=1), backend.new_tag())


def test_a_unit_is_one_committable_however_many_partitions(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(backend, tmp_path, step("spread", lambda frame: frame.repartition(3), "numbers"))
    splits = numbers_unit(1, 0, 40).splits + numbers_unit(2, 40, 90).splits
    result = run(backend, chain, WorkUnit(number=5, splits=splits))
    assert result.failure is None
    assert (result.rows_read, result.bytes_read, result.rows_skipped) == (90, 200, 0)
    committable = result.committables["folder"]
    assert (committable.id, committable.rows) == ("0-100000-5", 90)
    assert len(committable.body["files"]) == 3
    assert staged_numbers(tmp_path, [committable]) == list(range(90))


def test_arrow_transforms_stand_before_between_and_after(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(
        backend,
        tmp_path,
        step("double", Doubled(), "numbers"),
        step("few", lambda frame: frame.where("n < 5"), "double"),
        step("again", Doubled(), "few"),
        step("odd", lambda frame: frame.where("n % 2 = 1"), "again"),
        step("last", Doubled(), "odd"),
    )
    result = run(backend, chain, numbers_unit(1))
    assert result.failure is None
    assert result.rows_read == 20
    assert staged_numbers(tmp_path, [result.committables["folder"]]) == [1] * 8 + [3] * 8


def test_sinks_beside_and_behind_a_dataframe_transform(backend: SparkBackend, tmp_path: Path) -> None:
    few, all_of_them = tmp_path / "few", tmp_path / "all"
    few.mkdir()
    all_of_them.mkdir()
    chain = chain_with(
        backend,
        tmp_path,
        step("few", lambda frame: frame.where("n < 5"), "numbers"),
        targets=[
            Target(name="few sink", ordinal=0, sink=Folder(few), inputs=("few",)),
            Target(name="all sink", ordinal=1, sink=Folder(all_of_them), inputs=("numbers",)),
        ],
    )
    result = run(backend, chain, numbers_unit(1))
    assert result.failure is None
    assert result.rows_read == 20
    assert staged_numbers(few, [result.committables["few sink"]]) == list(range(5))
    assert staged_numbers(all_of_them, [result.committables["all sink"]]) == list(range(20))


def test_the_schema_is_analysed_without_data(backend: SparkBackend) -> None:
    schema = TableSchema(
        table="db.t",
        columns=pa.schema(
            [
                ("moment", pa.timestamp("us", tz="UTC")),
                ("local", pa.timestamp("us")),
                ("amount", pa.decimal128(12, 2)),
                ("day", pa.date32()),
                ("tags", pa.list_(pa.string())),
            ]
        ),
    )
    twice = Framed(lambda frame: frame.selectExpr("*", "amount * 2 as twice"))
    found = backend.frame_plan(twice, {"t": schema}).schema
    assert found.table == "db.t"
    assert found.columns.names == [*schema.columns.names, "twice"]
    assert found.columns.field("twice").type == pa.decimal128(14, 2)
    for column in ("moment", "local", "amount", "day"):
        assert found.columns.field(column).type == schema.columns.field(column).type


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda frame: frame.select("absent"), "absent"),
        (lambda frame: frame.select("n", "n"), "several columns named n"),
        (lambda frame: frame.selectExpr("interval 1 day as i"), None),
    ],
)
def test_what_cannot_be_planned_names_the_transform(
    backend: SparkBackend, tmp_path: Path, function: Any, said: str | None
) -> None:
    if said is None:
        assert backend.frame_plan(Framed(function), {"numbers": watched.NUMBERS}).schema.columns.names == ["i"]
        return
    with pytest.raises(TransformError, match=said) as caught:
        chain_with(backend, tmp_path, step("wrong", function, "numbers"))
    assert str(caught.value).startswith("transform 'wrong': ")


def test_a_column_without_a_counterpart_in_spark_is_named(backend: SparkBackend) -> None:
    schema = TableSchema(table="t", columns=pa.schema([("big", pa.decimal256(60, 2))]))
    with pytest.raises(TransformError, match=r"column 'big' of table 't' has the type decimal256\(60, 2\)"):
        backend.frame_plan(Framed(lambda frame: frame), {"t": schema})


def test_a_bad_row_is_reported_with_its_place(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(backend, tmp_path, step("same", lambda frame: frame, "numbers"))
    failure = run(backend, chain, numbers_unit(1, **{"raise": "a.csv, line 7, column n: 'x' is no number"})).failure
    assert failure is not None
    assert failure.kind is FailureKind.DATA
    assert failure.message == "pipeline 1, source 'numbers': a.csv, line 7, column n: 'x' is no number"


def test_a_full_target_is_reported_with_its_sink(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(backend, tmp_path, step("same", lambda frame: frame, "numbers"), full=True)
    failure = run(backend, chain, numbers_unit(1)).failure
    assert failure is not None
    assert failure.kind is FailureKind.TRANSIENT  # there may be space when it is tried again
    assert failure.message.startswith("pipeline 1, sink 'folder': ")


def test_skipped_rows_are_counted_once_although_a_worker_dies(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(backend, tmp_path, step("same", lambda frame: frame, "numbers"), skip_bad_rows=True)
    unit = numbers_unit(1, bad=10, kill_once=str(tmp_path / "killed"))
    result = run(backend, chain, unit)
    assert (tmp_path / "killed").exists()
    assert result.failure is None
    assert (result.rows_read, result.rows_skipped) == (10, 1)
    assert staged_numbers(tmp_path, [result.committables["folder"]]) == list(range(10))


def test_rows_that_transforms_leave_out_as_bad_are_counted_wherever_they_stand(
    backend: SparkBackend, tmp_path: Path
) -> None:
    def at_most(most: int) -> DataValidator:
        rules = [{"field_name": "n", "rule_type": "RANGE", "max_value": most}]
        return DataValidator(options_of(DataValidator, {"field_rules": rules, "row_error_handle_way": "SKIP"}))

    chain = chain_with(
        backend,
        tmp_path,
        step("before", at_most(16), "numbers"),
        step("one", lambda frame: frame, "before"),
        step("between", at_most(13), "one"),
        step("two", lambda frame: frame, "between"),
        step("behind", at_most(9), "two"),
    )
    result = run(backend, chain, numbers_unit(1))
    assert (result.failure, result.rows_read, result.rows_skipped) == (None, 20, 10)
    assert staged_numbers(tmp_path, [result.committables["folder"]]) == list(range(10))


def test_a_dataframe_transform_takes_one_table(backend: SparkBackend, tmp_path: Path) -> None:
    other = TableSchema(table="other", columns=watched.NUMBERS.columns)
    with pytest.raises(TransformError, match="transform 'same' accepts one table but receives 2: 'numbers', 'other'"):
        watched.build_chain(
            job_id="job",
            pipeline_id=1,
            source_name="numbers",
            source_ordinal=0,
            source=Numbers(),
            schemas=[watched.NUMBERS, other],
            steps=[step("same", lambda frame: frame, "numbers")],
            targets=[],
            frame_plan=backend.frame_plan,
        )


def test_settings_of_the_session_count_in_threads_of_the_engine(backend: SparkBackend) -> None:
    """Spark took the defaults there: ``id`` beside ``Id`` was ambiguous although the session tells cases apart."""
    session = SparkSession(backend.context).newSession()
    frames = SparkFrames(session, slots=2)
    schema = TableSchema(table="t", columns=pa.schema([("id", pa.int64()), ("Id", pa.string())]))

    def planned() -> Any:
        return frames.plan(Framed(lambda frame: frame.mapInArrow(lambda batches: batches, frame.schema)), {"t": schema})

    with ThreadPoolExecutor(1) as thread:
        said = r"table 't' has the columns 'id' and 'Id', which Spark treats as the same name; set spark\.sql"
        with pytest.raises(TransformError, match=said):
            thread.submit(planned).result()
        session.conf.set("spark.sql.caseSensitive", "true")
        assert thread.submit(planned).result().schema.columns.names == ["id", "Id"]


def test_a_division_by_zero_is_not_tried_again(backend: SparkBackend, tmp_path: Path) -> None:
    chain = chain_with(backend, tmp_path, step("divided", lambda frame: frame.selectExpr("n div 0 as n"), "numbers"))
    with pytest.raises(PacketLostError, match="DIVIDE_BY_ZERO") as caught:
        run(backend, chain, numbers_unit(1))
    assert not caught.value.retryable
