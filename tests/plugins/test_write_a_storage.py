"""``docs/start/write-a-storage.md``, followed to the letter."""

import sqlite3
from contextlib import closing

import pytest

from tests.plugins.stranger import ROOT, empty_folder, follow, steps

PAGE = (ROOT / "docs" / "start" / "write-a-storage.md").read_text(encoding="utf-8")


@pytest.mark.install
@pytest.mark.timeout(600)
def test_the_page_leads_to_a_storage_that_a_job_uses() -> None:
    with empty_folder("seatunnel-storage-sqlite") as stranger:
        follow(PAGE, stranger, failing="BROKEN")
        assert "| 13 | kept (2) |" in (stranger / "PROMISES.md").read_text()
        assert list((stranger / "first/output/cities").rglob("*.parquet"))
        with closing(sqlite3.connect(stranger.parent / "home" / "checkpoints.db")) as database:
            names = [path for (path,) in database.execute("SELECT path FROM blob")]
        assert any(".completed-point." in name for name in names), names


def test_every_part_of_the_project_is_on_the_page() -> None:
    tree = PAGE.partition("```text\n")[2].partition("```")[0]
    named = [line.split()[0] for line in tree.splitlines()[1:]]
    assert named == [step.file for step in steps(PAGE) if step.file][: len(named)]


def test_the_page_needs_no_more_than_the_example_says() -> None:
    """36 lines, says the page."""
    lines = (ROOT / "examples/minimal_plugin/minimal_plugin.py").read_text().splitlines()
    assert f"in {len([line for line in lines if line.strip()])} lines" in PAGE
