"""Job files written after the pages of SeaTunnel's public documentation: what people copy from there is taken as it is.

Only the paths are another folder's. Every job is checked as ``--check --strict`` does; those that end by themselves,
with one source and one sink, are run without Spark.
"""

import json
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connectors import registry
from seatunnel_core.runtime.check import check_report
from seatunnel_core.runtime.plan import plan_job
from tests.cli.test_plugin_pages import run_planned

JOBS = sorted((Path(__file__).parent / "documented").glob("*.conf"))
ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
NO_ROWS = ("filter_rowkind",)
"""All their rows are made as INSERT, and left out."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """What the jobs read."""
    for name, text in {
        "text/people.txt": "ann#26#female\nbob#27#male\n",
        "csv/rows.csv": "id,name,day\n1,ann,2024/02/29\n2,,2024/03/01\n",
        "json/answers.json": json.dumps({"code": 200, "data": "get success", "success": True}) + "\n",
    }.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        (tmp_path / "in" / name).write_text(text)
    return tmp_path


def test_there_are_at_least_twenty() -> None:
    assert len(JOBS) >= 20


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_a_job_of_the_documentation_is_taken_as_it_is(job: Path, data: Path) -> None:
    problems = Problems(strict=True)
    text = job.read_text(encoding="utf-8").replace("/data/", f"{data}/")
    raw = read_job(parse(text, job.name, Variables({}, {}), problems), job.name, problems)
    planned = plan_job(raw, registry, ENGINE, look=True)
    assert "guarantee: " in check_report(planned, ENGINE)
    assert [str(each) for each in problems.found if "is an older name" not in str(each)] == []
    (pipeline,) = planned.pipelines
    if planned.bounded and len(pipeline.sources) == len(pipeline.sinks) == 1:
        assert (run_planned(planned) > 0) is (job.stem not in NO_ROWS)
