"""Rows of Python as a source: read once and whole, refused by row and key, and never quiet about what follows."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import seatunnel_core as st
from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.job_file import job_from_code
from seatunnel_core.connectors.memory.held import LARGEST, Held, hold_rows
from seatunnel_core.errors import RowError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup


@pytest.fixture
def engine(tmp_path: Any) -> EngineConfig:
    return load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path)


def held(job: st.Job) -> Held:
    found: Held = job._nodes[0][2]["data"]
    return found


def warnings(job: st.Job, engine: EngineConfig) -> list[str]:
    planned = plan_job(job_from_code(job._env, job._nodes), lookup, engine, manifest=None)
    return [str(problem) for problem in planned.warnings]


def numbers() -> Iterator[dict[str, int]]:
    yield {"n": 1}
    yield {"n": 2}


def test_a_list_is_a_source_and_says_nothing(engine: EngineConfig) -> None:
    job = st.Job("x")
    job.from_rows([{"n": 1}, {"n": 2}], name="numbers").collect(name="out")
    assert (held(job).rows, held(job).read_once) == (2, False)
    assert warnings(job, engine) == []


def test_an_iterator_is_read_before_the_job_and_the_job_says_what_that_means(engine: EngineConfig) -> None:
    job = st.Job("x")
    rows = numbers()
    job.from_rows(rows, name="numbers").collect(name="out")
    assert next(rows, None) is None
    assert held(job).rows == 2
    (said,) = warnings(job, engine)
    assert "each is delivered once" in said
    assert "to resume the job in another process (restore=…), pass an iterator of the same rows; other rows" in said


def test_the_same_rows_are_the_same_whether_from_a_list_or_not() -> None:
    assert hold_rows(numbers(), None).digest == hold_rows(list(numbers()), None).digest
    assert hold_rows([{"n": 3}], None).digest != hold_rows([{"n": 4}], None).digest


@pytest.mark.parametrize(
    ("rows", "schema", "said"),
    [
        ([{"n": 1}, {"n": "x"}], None, r"^from_rows: row 2, key 'n': found a str, but row 1 contains an int"),
        (
            [{"n": 1.5}],
            {"n": "bigint"},
            r"^from_rows: row 1, key 'n': found a float, but the column is declared as bigint",
        ),
        ([{"n": 1}], {"n": "integr"}, "'integr' is not a type; did you mean"),
        ([{"n": 1}], {"fields": {"n": "int"}, "comment": "x"}, "not keys or comments"),
        (pd.DataFrame({"n": [1]}), None, "found a DataFrame; use from_arrow"),
        (5, None, "found a int; pass a list or an iterator"),
        ({"n": 1}, None, "row 1 is a str; expected a mapping"),
    ],
)
def test_what_is_no_rows_is_refused(rows: Any, schema: Any, said: str) -> None:
    job = st.Job("x")
    with pytest.raises(st.UsageError, match=said):
        job.from_rows(rows, schema=schema)
    assert job._nodes == []


def test_an_error_of_the_generator_is_the_programs_own() -> None:
    def broken() -> Iterator[dict[str, int]]:
        yield {"n": 1}
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        st.Job("x").from_rows(broken())


def test_a_generator_without_end_is_refused_when_the_memory_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.memory.held.LARGEST", 100_000)

    def endless() -> Iterator[dict[str, int]]:
        while True:
            yield {"n": 1}

    with pytest.raises(RowError, match=r"20,000 rows have 160,\d+ bytes; the maximum is 100,000: .*@st.source"):
        hold_rows(endless(), None)
    assert LARGEST == 2**30
