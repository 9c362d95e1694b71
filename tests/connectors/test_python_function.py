"""Functions as sources: what the decorator takes, splits, columns that are found, and errors that name the row."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import seatunnel_core as st
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance
from seatunnel_core.connector_api.testing.drive import options_of, plan, read
from seatunnel_core.connectors.python_function import NOT_SAID, PythonFunctionSource
from seatunnel_core.connectors.source_function import SourceFunction
from seatunnel_core.errors import RowError, SourceError
from seatunnel_core.spark.failure import kind_of


@st.source(splits=["a", "b"], replayable=True)
def letters(letter: str, count: int = 2) -> Iterator[dict[str, Any]]:
    """Give letters."""
    for number in range(count):
        yield {"letter": letter, "number": number}


@st.source
def one() -> list[dict[str, int]]:
    return [{"n": 1}, {"n": 2}]


@pytest.fixture(autouse=True)
def functions_travel_as_with_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their code, where nobody could import them: a decorated name is no function any more."""
    monkeypatch.setattr("seatunnel_core.connector_api.testing.drive.pickle", cloudpickle)


LETTERS = [{"letter": letter, "number": number} for letter in "ab" for number in range(2)]


class TestPythonFunctionSource(SourceConformance):
    source_class = PythonFunctionSource

    def options(self) -> Mapping[str, Any]:
        return {"function": letters}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return LETTERS


def source_of(function: Any, **options: Any) -> PythonFunctionSource:
    return PythonFunctionSource(options_of(PythonFunctionSource, {"function": function, **options}))


def rows_of(function: Any, **options: Any) -> list[Any]:
    source = source_of(function, **options)
    return list(read(source, plan(source, PlanningContext(parallelism=2))))


def test_a_function_can_be_iterated_over_and_has_its_own_name_and_parameters() -> None:
    assert list(letters) == LETTERS
    assert list(letters(count=1)) == [{"letter": "a", "number": 0}, {"letter": "b", "number": 0}]
    assert list(one) == [{"n": 1}, {"n": 2}]
    assert letters.name == "letters"
    assert letters.__doc__ == "Give letters."
    assert list(inspect.signature(letters).parameters) == ["letter", "count"]
    assert repr(letters(count=7)) == f"<source {__name__}:letters with arguments>"


def test_columns_are_declared_or_found() -> None:
    declared = plan(
        source_of(letters, schema={"fields": {"letter": "string", "number": "int"}}), PlanningContext(parallelism=2)
    )
    assert declared.schemas[0].columns == pa.schema([("letter", pa.string()), ("number", pa.int32())])
    found = plan(source_of(letters), PlanningContext(parallelism=2))
    assert found.schemas[0].columns == pa.schema([("letter", pa.string()), ("number", pa.int64())])
    assert found.schemas[0].table == "default"
    said = st.source(schema=pa.schema([("n", pa.int8())]))(lambda: [{"n": 1}])
    assert source_of(said).planned_schemas()[0].columns == pa.schema([("n", pa.int8())])  # type: ignore[index]
    keys = {"fields": {"n": "int"}, "primaryKey": {"name": "p", "columnNames": ["n"]}, "table": "numbers"}
    (schema,) = source_of(one, schema=keys).planned_schemas() or ()
    assert (schema.table, schema.primary_key) == ("numbers", ("n",))


def test_splits_may_be_found_by_a_function_that_gets_the_arguments() -> None:
    @st.source(splits=lambda first, last: range(first, last))
    def numbers(split: int, first: int, last: int) -> Iterator[dict[str, int]]:
        yield {"n": split, "of": last - first}

    assert list(numbers(3, last=5)) == [{"n": 3, "of": 2}, {"n": 4, "of": 2}]


@pytest.mark.parametrize("split", [date(2024, 1, 1), {1: 2}, float("nan"), None, {3}, Decimal(1)])
def test_a_split_that_no_checkpoint_could_hold_is_refused(split: Any) -> None:
    source = source_of(st.source(splits=["a", split])(letters.function))
    with pytest.raises(st.UsageError, match=r"letters: split 2 is .*, which JSON cannot represent; checkpoints store"):
        plan(source, PlanningContext(parallelism=2))


def test_a_split_that_json_holds_comes_back_as_it_was() -> None:
    splits: list[Any] = [{"from": 1, "to": [2, None]}, "x", 1.5, True, ["a"]]
    found = plan(
        source_of(st.source(splits=splits, schema={"letter": "string", "number": "int"})(letters.function)),
        PlanningContext(parallelism=2),
    ).splits
    assert [split.body["split"] for split in found] == splits


def test_a_job_promises_at_least_once_until_somebody_says_more_and_warns_when_nobody_says_anything() -> None:
    assert (source_of(one).replayable, source_of(one).remarks) == (False, (NOT_SAID,))
    assert (source_of(letters).replayable, source_of(letters).remarks) == (True, ())
    assert (source_of(letters, replayable=False).replayable, source_of(letters).remarks) == (False, ())
    assert source_of(one, replayable=True).replayable is True


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (
            [{"n": 1}] * 5 + [{"n": "x"}],
            {"schema_sample": 3},
            r"row 6, key 'n': found a str, .* inferred from the first 3 rows",
        ),
        (
            [{"n": 1}] * 5 + [{"m": 1}],
            {"schema_sample": 3},
            r"row 6: the key 'm' is not a column: .*from the first 3 rows",
        ),
        (
            [{"n": None}] * 5 + [{"n": 1}],
            {"schema_sample": 3},
            r"row 6, key 'n': found an int, but .* declared as null",
        ),
        ([{"n": 1.5}], {"schema": {"fields": {"n": "int"}}}, r"row 1, key 'n': found a float, but .* declared as int"),
        ([{"n": 1}, 5], {"schema": {"fields": {"n": "int"}}}, "row 2 is an int; expected a mapping"),
        ([], {}, "there are no rows, so the columns are unknown: declare them"),
    ],
)
def test_a_row_that_does_not_fit_is_named(rows: list[Any], options: Any, said: str) -> None:
    with pytest.raises(RowError, match=said):
        rows_of(lambda: rows, **options)


def test_errors_name_the_function_and_the_split() -> None:
    @st.source(splits=["a", "b"], schema={"n": "int"})
    def broken(split: str) -> Iterator[dict[str, Any]]:
        yield {"n": 1 if split == "a" else "x"}

    with pytest.raises(RowError, match=r'broken, split "b": row 1, key .n.: found a str'):
        rows_of(broken)
    described = source_of(broken).describe(plan(source_of(broken), PlanningContext(parallelism=2)).splits)
    assert [each.partition(": ")[0] for each in described] == ['split "a"', 'split "b"']


def test_an_error_of_the_function_is_told_and_one_of_the_network_is_tried_again() -> None:
    @st.source(schema={"n": "int"})
    def failing(error: Exception) -> Iterator[dict[str, Any]]:
        yield {"n": 1}
        raise error

    with pytest.raises(SourceError, match="failing failed with KeyError: 'token'") as caught:
        rows_of(failing(KeyError("token")))
    assert kind_of(caught.value).name == "DATA"
    with pytest.raises(SourceError, match="failing failed with ConnectionResetError") as caught:
        rows_of(failing(ConnectionResetError()))
    assert kind_of(caught.value).name == "TRANSIENT"


@pytest.mark.parametrize("decorated", [5, "splits", dict])
def test_only_functions_are_decorated(decorated: Any) -> None:
    with pytest.raises(st.UsageError, match=r"@st.source decorates a function that yields rows"):
        st.source(decorated)


def test_a_job_takes_a_function_by_its_name() -> None:
    job = st.Job("x")
    assert [job.source(letters).name, job.source(letters(count=1)).name] == ["letters", "PythonFunction-source-2"]
    assert job.source(one, name="mine", schema_sample=5).name == "mine"
    assert isinstance(job._nodes[0][2]["function"], SourceFunction)
    with pytest.raises(st.UsageError, match=r"the name of a source plugin, or a function decorated with @st.source"):
        job.source(letters.function)  # type: ignore[arg-type]
