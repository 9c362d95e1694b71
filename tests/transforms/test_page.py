"""The pages on transforms: each of their jobs gives what stands below it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.testing import Skipped, plan
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.kind import RowKind

DOCS = Path(__file__).parents[2] / "docs"
RUN_ELSEWHERE = ("DataFrame", "Embedding", "LLM", "Python", "SparkSql")
"""By Spark, with a module of one's own, or by a model that is asked."""

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))


def examples() -> list[tuple[str, str, str]]:
    """Heading, job and result of every example."""
    texts = {page.stem: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("reference/transforms/*.md"))}
    of_one_page = (DOCS / "guides" / "transforms.md").read_text(encoding="utf-8")
    sections = re.split(r"^## `(\w+)`\n", of_one_page, flags=re.MULTILINE)[1:]
    texts |= dict(zip(sections[::2], sections[1::2], strict=True))
    found = []
    for name, text in texts.items():
        jobs = re.findall(r"^```hocon\n(.*?)^```\n\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert jobs or name in RUN_ELSEWHERE, f"{name} has no example"
        found += [(name, job, result) for job, result in jobs]
    return found


def run(job: str) -> Iterator[str]:
    problems = Problems()
    planned = plan_job(
        read_job(parse(job, "job.conf", Variables({}, {}), problems), "job.conf", problems), lookup, ENGINE
    )
    assert check_report(planned, ENGINE)
    assert not problems.found
    (pipeline,) = planned.pipelines
    source = pipeline.sources[0].source
    batches = [batch for split in plan(source).splits for batch in source.read(split, Skipped())]
    for transform in (each.transform for each in pipeline.transforms):
        assert isinstance(transform, Transform)
        batches = [after for batch in batches for after in transform.apply(batch)]
    yield f"{batches[0].table}: {', '.join(batches[0].rows.schema.names)}"
    for batch in batches:
        yield from lines(batch)


def lines(batch: Batch) -> Iterator[str]:
    kinds = [0] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
    for kind, row in zip(kinds, batch.rows.to_pylist(), strict=True):
        values = ["null" if value is None else str(value) for value in row.values()]
        yield " | ".join([RowKind(kind).name, *values])


@pytest.mark.parametrize(("name", "job", "result"), examples())
def test_examples(name: str, job: str, result: str) -> None:
    assert f"{name} {{" in job
    assert list(run(job)) == result.splitlines()
