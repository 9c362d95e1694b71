"""The pages of connectors and transforms: what is made of the declarations, and the jobs that stand on them.

What a transform gives, line by line, is compared in ``tests/transforms/test_page.py``.
"""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.option import Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.sink import FrameSink
from seatunnel_core.connector_api.source import FrameSource
from seatunnel_core.connector_api.testing import Skipped, plan
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, through_json
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from tests.cli.help.plugin_pages import DOCS, built_in, page_of, pages
from tests.foundation.snippets import names_a_server, plan_only
from tests.planning.options_page import row

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
PAGES = sorted([*DOCS.glob("connectors/*.md"), *DOCS.glob("transforms/*.md")])
FROM_CODE_ONLY = {"Memory"}


def test_the_pages_say_what_the_code_declares() -> None:
    """Declare first; then `python -m tests.cli.help.plugin_pages` writes the pages."""
    for path, made in pages().items():
        assert path.exists(), f"{path.name}: run python -m tests.cli.help.plugin_pages, and write its prose"
        assert path.read_text(encoding="utf-8") == made


def test_every_page_is_of_a_plugin() -> None:
    assert set(PAGES) == set(pages()) - {DOCS / "connectors.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_jobs_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, without Spark: what needs that is planned only, here."""
    text = page.read_text(encoding="utf-8")
    for name, code in re.findall(r"`(\w+)\.py`:\n\n```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
    jobs = re.findall(r"^```hocon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    jobs = [job for job in jobs if "source {" in job and "sink {" in job]
    assert jobs or page.stem in FROM_CODE_ONLY, "a page shows a job"
    for job in jobs:
        if names_a_server(job):
            plan_only(job)
        else:
            run(job.replace("/data/", f"{tmp_path}/"))


def run(text: str) -> None:
    problems = Problems()
    raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    planned = plan_job(raw, lookup, ENGINE, look=True)
    assert not problems.found
    assert check_report(planned, ENGINE)
    run_planned(planned)


def run_planned(planned: PlannedJob) -> int:
    """Move the rows of a job of one pipeline, one source and one sink; say how many arrived."""
    (pipeline,) = planned.pipelines
    transforms = [each.transform for each in pipeline.transforms]
    if not all(isinstance(each, Transform) for each in transforms):
        return 0
    source, sink, here = pipeline.sources[0].source, pipeline.sinks[0].sink, place()
    if isinstance(source, FrameSource) or isinstance(sink, FrameSink):  # Spark itself reads or writes it
        return 0
    found = plan(source)
    schemas: tuple[TableSchema, ...] = found.schemas
    batches: list[Batch] = [batch for split in found.splits for batch in source.read(split, Skipped())]
    for transform in transforms:
        assert isinstance(transform, Transform)
        schemas = tuple(after for schema in schemas for after in transform.output_schemas(schema))
        batches = [after for batch in batches for after in transform.apply(batch)]
    sink.prepare(sink_place(here))
    sink.create_tables(schemas, sink_place(here))
    writer = sink.open_writer(schemas, here)
    for batch in batches:
        writer.write(batch)
    staged = writer.finish()
    body = through_json(dict(staged.body))
    arrived = Committable(id="0-1-1", epoch=1, unit=1, source="s", rows=staged.rows, bytes=staged.bytes, body=body)
    commit(sink, [arrived], here)
    return staged.rows


def test_every_option_is_on_the_page_or_on_the_one_that_it_links_to() -> None:
    for plugin in built_in():
        text = page_of(plugin).read_text(encoding="utf-8")
        linked = re.search(rf"options of \[\w+\]\((\w+)\.md#the-{plugin.kind}\)", text)
        tables = text + (page_of(plugin).with_name(f"{linked[1]}.md").read_text(encoding="utf-8") if linked else "")
        options: tuple[Option[Any], ...] = getattr(plugin.declared, "declared", ())
        assert [each.key for each in options if f"\n{row(each)}\n" not in tables] == [], plugin.identifier
