"""A sink that asks for columns which nothing gives is refused before a task starts."""

from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import JobError, SinkError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.operator_chains import chain_of
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))


def planned(options: str, transform: str = "") -> PlannedJob:
    """A source of the columns id, year and city, a transform perhaps, and a sink with these options."""
    text = f"""
        source {{
          FakeSource {{
            row.num = 1
            schema {{ table = flights, fields {{ id = int, year = int, city = string }} }}
          }}
        }}
        transform {{ {transform} }}
        sink {{ LocalFile {{ path = "/data/out", {options} }} }}"""
    problems = Problems()
    raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    return plan_job(raw, lookup, ENGINE, look=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "partition_by = [yaer]",
            "option 'partition_by': the table flights has no column 'yaer'; it has id, year, city; did you mean year?",
        ),
        (
            "sink_columns = [id, colour]",
            "option 'sink_columns': the table flights has no column 'colour'; it has id, year, city",
        ),
    ],
)
def test_check_and_run_name_the_sink_the_option_and_the_columns(options: str, message: str) -> None:
    job = planned(options)
    with pytest.raises(JobError) as raised:
        check_report(job, ENGINE)
    (sink,) = job.pipelines[0].sinks
    assert str(raised.value) == f"the sink {sink.name!r} cannot write the rows that it receives: {message}"

    (source,) = job.pipelines[0].sources
    schemas = source.source.planned_schemas()
    assert schemas is not None
    with pytest.raises(SinkError) as in_run:
        chain_of(job.pipelines[0], source.name, schemas, job_id="job-1")
    assert str(in_run.value) == f"sink {sink.name!r}: {message}"


def test_what_a_transform_takes_away_is_not_there_any_more() -> None:
    transform = "FieldMapper { field_mapper = { id = id, year = when } }"
    with pytest.raises(JobError, match=r"has no column 'year'; it has id, when$"):
        check_report(planned("partition_by = [year]", transform), ENGINE)
    assert "exactly-once" in check_report(planned("partition_by = [when]", transform), ENGINE)


def test_columns_that_only_the_data_has_are_not_refused() -> None:
    assert check_report(planned("partition_by = [yaer]", 'SparkSql { query = "select 1 as yaer" }'), ENGINE)


def test_what_does_not_count_is_not_looked_at() -> None:
    assert check_report(planned("partition_by = [yaer], have_partition = false"), ENGINE)
