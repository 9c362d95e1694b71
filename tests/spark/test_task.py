"""What a task does, without Spark: routing, counting, failures by kind, and units that end in any order."""

import errno
import json
import pickle
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from watched import NUMBERS, Doubled, Folder, FolderWriter, Numbers, numbers_chain, numbers_unit, staged_numbers

from seatunnel_core.connector_api.sink import SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import (
    CommitError,
    RowError,
    RuleError,
    SinkError,
    SourceChangedError,
    SourceError,
    TransformError,
    UsageError,
)
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.spark.failure import kind_of, task_failure
from seatunnel_core.spark.frames import task as frame_task
from seatunnel_core.spark.frames.task import staged_parts
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target
from seatunnel_core.spark.task import run_batch, run_unit
from seatunnel_core.spark.unit_run import UnitRun
from seatunnel_core.spark.work import TaskBatch, UnitResult, UnitWork
from seatunnel_core.transforms.data_validator import DataValidator
from seatunnel_core.transforms.filter import Filter
from seatunnel_core.transforms.filter_row_kind import FilterRowKind
from seatunnel_core.work.failure import FailureKind
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


class Picky(Folder):
    """Takes all numbers but one, and says so when it gets it, or when it has got all."""

    def __init__(self, path: Path, refused: int, late: bool = False) -> None:
        super().__init__(path)
        self.refused, self.late = refused, late

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        return PickyWriter(Path(self.path), self.refused, self.late)


class PickyWriter(FolderWriter):
    def __init__(self, path: Path, refused: int, late: bool) -> None:
        super().__init__(path, "picky", full=False)
        self.refused, self.late = refused, late

    def write(self, batch: Batch) -> None:
        super().write(batch)
        if not self.late:
            self.finish()

    def finish(self) -> Staged:
        if self.refused in (row["n"] for row in self.rows):
            raise RowError(f"{self.refused} is not taken")
        return super().finish()


def first_attempt(unit: WorkUnit, epoch: int = 1) -> UnitAttempt:
    return UnitAttempt(unit=unit, epoch=epoch, number=1)


def test_one_read_feeds_every_sink(tmp_path: Path) -> None:
    plain, doubled = tmp_path / "plain", tmp_path / "doubled"
    plain.mkdir()
    doubled.mkdir()
    chain = numbers_chain(
        tmp_path,
        steps=[Step(name="double", transform=Doubled(), inputs=("numbers",))],
        targets=[
            Target(name="plain", ordinal=0, sink=Folder(plain), inputs=("numbers",)),
            Target(name="doubled", ordinal=1, sink=Folder(doubled), inputs=("double",)),
            Target(name="elsewhere", ordinal=2, sink=Folder(doubled), inputs=("another source",)),
        ],
    )
    assert [target.name for target in chain.targets] == ["plain", "doubled"]
    result = run_unit(chain, first_attempt(numbers_unit(3), epoch=100_000), 7)
    assert (result.failure, result.rows_read, result.bytes_read) == (None, 20, 100)
    assert staged_numbers(plain, [result.committables["plain"]]) == list(range(20))
    assert staged_numbers(doubled, [result.committables["doubled"]]) == sorted([*range(20), *range(20)])
    assert result.committables["plain"].body["files"] == ["1-0-100000-3-1-7.jsonl"], "both attempts are in the name"


def test_a_unit_without_rows_stages_nothing(tmp_path: Path) -> None:
    result = run_unit(numbers_chain(tmp_path), first_attempt(numbers_unit(1, 5, 5)), 1)
    assert (result.failure, result.committables) == (None, {})
    assert list(tmp_path.iterdir()) == []


def test_a_bad_row_fails_or_is_counted(tmp_path: Path) -> None:
    unit = numbers_unit(1, 0, 30, bad=10)
    failed = run_unit(numbers_chain(tmp_path), first_attempt(unit), 1)
    assert failed.failure is not None
    assert failed.failure.message == "pipeline 1, source 'numbers': numbers.csv, line 10, column n: not a number"
    assert failed.committables == {}
    skipped = run_unit(numbers_chain(tmp_path, skip_bad_rows=True), first_attempt(unit), 2)
    assert (skipped.failure, skipped.rows_read, skipped.rows_skipped) == (None, 20, 1)


def origin_of(chain: OperatorChain, unit: WorkUnit) -> str:
    failure = run_unit(chain, first_attempt(unit), 1).failure
    assert failure is not None
    assert failure.kind is FailureKind.DATA
    return failure.message


def test_a_row_that_a_transform_or_a_sink_cannot_take_is_reported_with_where_it_was_read(tmp_path: Path) -> None:
    """The piece of the source, and which of its rows were under way; of what only shows at the end, the whole unit."""
    rules = [{"field_name": "n", "rule_type": "RANGE", "max_value": 14}]
    check = Step(
        name="check", transform=DataValidator(options_of(DataValidator, {"field_rules": rules})), inputs=("numbers",)
    )
    said = origin_of(numbers_chain(tmp_path, steps=[check]), numbers_unit(1, 0, 30))
    assert said.startswith("pipeline 1, transform 'check': ")
    assert said.endswith(". Read from split 1, among its rows 11 to 20")
    skipping = numbers_chain(tmp_path, steps=[check], skip_bad_rows=True)
    assert origin_of(skipping, numbers_unit(1, 0, 30)).endswith(". Read from split 1"), "rows left out are not counted"
    strict = Target(name="strict", ordinal=0, sink=Picky(tmp_path, 12), inputs=("numbers",))
    said = origin_of(numbers_chain(tmp_path, targets=[strict]), numbers_unit(1, 0, 30))
    assert said == "pipeline 1, sink 'strict': 12 is not taken. Read from split 1, among its rows 11 to 20"
    late = Target(name="late", ordinal=0, sink=Picky(tmp_path, 12, late=True), inputs=("numbers",))
    unit = WorkUnit(number=1, splits=(*numbers_unit(1, 0, 30).splits, *numbers_unit(2, 30, 40).splits))
    said = origin_of(numbers_chain(tmp_path, targets=[late]), unit)
    assert said == "pipeline 1, sink 'late': 12 is not taken. Read from split 1; split 2"


@pytest.mark.parametrize("way", ["fused", "to Spark"])
def test_rows_that_a_transform_leaves_out_as_bad_are_counted_once(tmp_path: Path, way: str) -> None:
    """Also behind it, where another transform makes new batches of what is left."""
    rules = [{"field_name": "n", "rule_type": "RANGE", "max_value": 14}]
    made = DataValidator(options_of(DataValidator, {"field_rules": rules, "row_error_handle_way": "SKIP"}))
    steps = (
        Step(name="check", transform=made, inputs=("numbers",)),
        Step(name="double", transform=Doubled(), inputs=("check",)),
    )
    chain = numbers_chain(tmp_path, steps=steps)
    run = UnitRun(chain, first_attempt(numbers_unit(1, 0, 30)), 1)
    if way == "fused":
        run.stage()
        assert run.result().committables["folder"].rows == 30
    else:
        flown = [each for batch in run.read() for each in run.flow("numbers", batch, "folder", "double")]
        assert sum(batch.rows.num_rows for batch in flown) == 30
    assert (run.rows_read, run.rows_skipped) == (30, 15)


class Unchanged(Numbers):
    """Updates whose word did not arrive."""

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        for batch in super().read(split, context):
            size = batch.rows.num_rows
            kinds = pa.array([RowKind.UPDATE_AFTER.value] * size, pa.int8())
            yield evolve(batch, kinds=kinds, absent={"word": pa.array([at == 3 for at in range(size)])})


@pytest.mark.parametrize(
    ("step", "at"),
    [
        (Doubled(), "transform 'step': Doubled"),
        (FilterRowKind(options_of(FilterRowKind, {"exclude_kinds": ["DELETE"]})), "sink Folder"),
        (Filter(options_of(Filter, {"include_fields": ["n"]})), None),
    ],
)
def test_values_that_did_not_arrive_reach_nothing_that_would_write_null(
    tmp_path: Path, step: Transform, at: str | None
) -> None:
    chain = numbers_chain(tmp_path, steps=[Step(name="step", transform=step, inputs=("numbers",))], source=Unchanged())
    failure = run_unit(chain, first_attempt(numbers_unit(1)), 1).failure
    if at is None:
        assert failure is None
    else:
        assert failure is not None
        assert f"{at}: column 'word', row 4 of a batch of numbers: the change does not contain" in failure.message
        assert failure.kind is FailureKind.DATA


def test_values_that_did_not_arrive_do_not_reach_spark(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pylist([{"n": 1}])
    with pytest.raises(RowError, match="a DataFrame transform: column 'n', row 1 of a batch of numbers"):
        frame_task._rows_for_spark(Batch(table="numbers", rows=rows, absent={"n": pa.array([True])}), rows.schema)


def test_rows_and_time_of_each_vertex_are_measured(tmp_path: Path) -> None:
    rules = [{"field_name": "n", "rule_type": "RANGE", "max_value": 14}]
    made = DataValidator(options_of(DataValidator, {"field_rules": rules, "row_error_handle_way": "SKIP"}))
    steps = (
        Step(name="check", transform=made, inputs=("numbers",)),
        Step(name="double", transform=Doubled(), inputs=("check",)),
    )
    chain = numbers_chain(tmp_path, steps=steps)
    assert chain.behind == {
        "numbers": {"check", "double", "folder"},
        "check": {"double", "folder"},
        "double": {"folder"},
    }
    run = UnitRun(chain, first_attempt(numbers_unit(1, 0, 30)), 1)
    run.stage()
    work = run.result().vertices
    rows = {name: (each.rows_in, each.rows_out) for name, each in work.items()}
    assert rows == {"numbers": (0, 30), "check": (30, 15), "double": (15, 30), "folder": (30, 0)}
    assert all(each.busy_ms > 0 for each in work.values())
    others = sum(each.busy_ms for name, each in work.items() if name != "numbers")
    assert work["numbers"].behind_ms == pytest.approx(others)
    assert work["folder"].behind_ms == 0


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RowError("x"), FailureKind.DATA),
        (SourceChangedError("x"), FailureKind.DATA),
        (RuleError("x"), FailureKind.DATA),
        (SourceError("x"), FailureKind.DATA),
        (TransformError("x"), FailureKind.DATA),
        (pa.ArrowInvalid("x"), FailureKind.DATA),
        (UsageError("x"), FailureKind.USAGE),
        (SinkError("x"), FailureKind.USAGE),
        (CommitError("x", retryable=True), FailureKind.TRANSIENT),
        (caused(SinkError("x"), OSError(errno.ENOSPC, "full")), FailureKind.TRANSIENT),
        (caused(SinkError("x"), OSError(errno.EROFS, "read-only")), FailureKind.USAGE),
        (caused(SourceError("x"), PermissionError(errno.EACCES, "no")), FailureKind.USAGE),
        (OSError(errno.EIO, "disk"), FailureKind.TRANSIENT),
        (MemoryError(), FailureKind.TRANSIENT),
        (ZeroDivisionError("x"), FailureKind.BUG),
    ],
)
def test_kinds_of_failure(error: Exception, kind: FailureKind) -> None:
    assert kind_of(error) is kind


def test_a_message_names_its_place_once() -> None:
    assert task_failure(SinkError("no space"), "pipeline 2, sink 'out'").message == "pipeline 2, sink 'out': no space"
    told = "pipeline 2, sink LocalFile: no space"
    assert task_failure(SinkError(told), "pipeline 2, sink 'out'").message == told
    assert "ZeroDivisionError: x" in task_failure(ZeroDivisionError("x"), "here").message


def test_a_failure_has_the_code_of_its_error_on_either_path() -> None:
    """Rows of a DataFrame bring a failure to the driver as JSON."""
    failure = task_failure(SinkError("no space"), "pipeline 2, sink 'out'")
    assert (failure.code, task_failure(ZeroDivisionError("x"), "here").code) == ("SINK-ERROR", "")
    assert staged_parts([json.dumps({"failure": failure.record()})])[-1] == failure


second_has_ended = threading.Event()


class WaitingFolder(Folder):
    """Its first unit can only end after its second has."""

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer = WaitingWriter(Path(self.path), f"{context.pipeline_id}-{context.unit}.jsonl", self.full)
        writer.unit = context.unit
        return writer


class WaitingWriter(FolderWriter):
    unit = 0

    def finish(self) -> Staged:
        if self.unit == 1:
            assert second_has_ended.wait(30), "the units of a batch wait for the disk one after the other"
        staged = super().finish()
        if self.unit == 2:
            second_has_ended.set()
        return staged


def test_units_of_a_batch_wait_for_the_disk_together(tmp_path: Path) -> None:
    """Results come in the order of the units all the same."""
    target = Target(name="folder", ordinal=0, sink=WaitingFolder(tmp_path), inputs=("numbers",))
    chain = numbers_chain(tmp_path, targets=[target])
    works = tuple(UnitWork(chain="p", attempt=first_attempt(numbers_unit(number))) for number in range(1, 40))
    second_has_ended.clear()
    before = threading.active_count()
    results = run_all(chain, works)
    assert [(result.attempt.unit, result.failure) for result in results] == [(number, None) for number in range(1, 40)]
    assert threading.active_count() == before


def run_all(chain: OperatorChain, works: tuple[UnitWork, ...]) -> list[UnitResult]:
    batch = TaskBatch(works=works, carriers=carriers(chain))
    return [result for _, result in run_batch(batch, 1) if isinstance(result, UnitResult)]


def carriers(chain: OperatorChain) -> dict[str, bytes]:
    carriers = {"p": pickle.dumps(chain)}
    from seatunnel_core.spark import task

    task._things.kept.clear()
    return carriers


@given(rows=st.integers(0, 200), cuts=st.lists(st.integers(0, 200), max_size=6), data=st.data())
def test_however_splits_and_units_are_cut_the_rows_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: int, cuts: list[int], data: Any
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    edges = sorted({0, rows, *(min(cut, rows) for cut in cuts)})
    pieces = [numbers_unit(1, start, stop).splits[0] for start, stop in pairwise(edges)]
    units: list[Any] = []
    while pieces:
        taken = data.draw(st.integers(1, len(pieces)))
        units.append(WorkUnit(number=len(units) + 1, splits=tuple(pieces[:taken])))
        pieces = pieces[taken:]
    chain = numbers_chain(folder)
    works = tuple(UnitWork(chain="p", attempt=first_attempt(unit)) for unit in units)
    committables = [one for result in run_all(chain, works) for one in result.committables.values()]
    assert staged_numbers(folder, committables) == list(range(rows))
    assert sum(committable.rows for committable in committables) == rows


def test_a_result_travels_as_json_bodies(tmp_path: Path) -> None:
    result = run_unit(numbers_chain(tmp_path), first_attempt(numbers_unit(1)), 1)
    assert pickle.loads(pickle.dumps(result)) == result
    body = result.committables["folder"].body
    assert json.loads(json.dumps(body)) == body


def test_a_table_from_two_inputs_must_have_one_shape(tmp_path: Path) -> None:
    class Renamed(Doubled):
        def output_schema(self, schema: TableSchema) -> TableSchema:
            return TableSchema(table=schema.table, columns=schema.columns.remove(0))

    with pytest.raises(
        TransformError, match=r"'folder' receives table 'numbers' .* \(n int64, word string\) and \(word"
    ):
        numbers_chain(
            tmp_path,
            steps=[Step(name="renamed", transform=Renamed(), inputs=("numbers",))],
            targets=[Target(name="folder", ordinal=0, sink=Folder(tmp_path), inputs=("numbers", "renamed"))],
        )
    assert NUMBERS.columns.names == ["n", "word"]
