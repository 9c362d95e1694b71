"""The guide to schemas: its sources read, and its table of types is that of the code."""

import re
from pathlib import Path

import pytest

from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.rows.inference import kinds
from tests.foundation.snippets import Snippet, plan_only, snippets

PAGE = "docs/guides/schemas.md"


@pytest.mark.parametrize(
    "snippet",
    [each for each in snippets("hocon") if each.page == PAGE and "LocalFile {\n" in each.text],
    ids=lambda each: each.place,
)
def test_its_sources_read(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "a.json").write_text('{"id": 1, "name": "x"}\n{"id": 2, "name": "y"}\n')
    job = re.sub('"(people|orders)"\n', f'"{tmp_path}/people"\n', snippet.text)
    (source,) = plan_only(job).pipelines[0].sources
    found = plan(source.source)
    assert read(source.source, found) == [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]


def test_its_types_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
    in_page = re.findall(r"^\| (.*?) \| (.*?) \|$", page.partition("## Types")[2].partition("##")[0], re.MULTILINE)[1:]
    assert kinds.__doc__ is not None
    lines = [re.split(r" {2,}", line) for line in kinds.__doc__.splitlines() if re.search(r"\S {2,}\S", line)]
    assert in_page == [(what.replace("``", "`"), kind.replace("``", "`")) for what, kind in lines[1:]]
