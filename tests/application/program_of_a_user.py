"""A program as a user writes it, which mypy reads with ``--strict``: names, parameters and results have their types."""

from collections.abc import Iterator
from typing import Any, assert_type

import pyarrow as pa

import seatunnel_core as st


def shout(rows: pa.RecordBatch) -> pa.RecordBatch:
    """A function of batches."""
    return rows


@st.source(splits=["2024-01", "2024-02"], schema={"month": "string"}, replayable=True)
def sales(month: str, first: int = 1) -> Iterator[dict[str, object]]:
    """A source with splits."""
    yield {"month": month, "number": first}


@st.source
def numbers() -> list[dict[str, int]]:
    """A source without splits."""
    return [{"n": 1}]


@st.transform
def large(row: dict[str, Any]) -> dict[str, Any] | None:
    """A transform of rows."""
    return row if row["inhabitants"] > 1_000_000 else None


def program() -> None:
    """Build a job, run it, and look at it."""
    job = st.Job("cities", {"checkpoint.interval": 1000})
    cities = job.source("LocalFile", {"path": "cities.csv"}, name="cities", file_format_type="csv")
    assert_type(cities, st.Rows)
    assert_type(cities.transform("Filter", include_fields=["city"]).map_batches(shout), st.Rows)
    cities.sink("LocalFile", path="out")
    assert_type(job.source(sales(first=2), name="sales"), st.Rows)
    assert_type(job.source(numbers).transform(large), st.Rows)
    assert_type(job.from_rows([{"city": "Lima"}], schema={"city": "string"}), st.Rows)
    report = job.run(master="local[2]", job_id="first", progress=False)
    assert_type(report, st.JobReport)
    assert_type(report.outcome, st.JobOutcome)
    assert_type(report.pipelines[0].rows_committed, int)
    with job.submit(restore=st.Restore("first", checkpoints=["1:7"])) as handle:
        assert_type(handle, st.JobHandle)
        assert_type(handle.wait(timeout=1.0), st.JobReport | None)
    sales(frist=2)  # type: ignore[call-arg]
    sales(first="x")  # type: ignore[arg-type]
    job.source(shout)  # type: ignore[arg-type]
    job.from_rows([1])  # type: ignore[list-item]
    job.run(mastr="local[2]")  # type: ignore[call-arg]  # mypy says so, or the comment is one too many
    st.Restore("first", retract="yes")  # type: ignore[arg-type]
    st.Jobb("cities")  # type: ignore[attr-defined]
