"""``seatunnel checkpoints gc``: what it would remove, what it removes, and what it spares."""

from seatunnel_core.cli.checkpoints import tables as tables
from tests.cli.checkpoints.terminal import Terminal
from tests.cli.checkpoints.test_checkpoints import cells
from tests.inspector.made import JOB


def test_gc_says_what_it_would_remove_and_then_removes_it(terminal: Terminal) -> None:
    staged = terminal.made.stage(100_000, 9)
    text = terminal.run("gc", "--dry-run", "--older-than", "0", "--paths")
    assert ["job-1", "staged", "file", "1", "100", "B"] in [line[:6] for line in cells(text)]
    assert ["job-1", "void", "checkpoint", "1"] in [line[:4] for line in cells(text)]
    assert f"  {staged}\n" in text
    assert "Would remove 2 things" in text
    assert staged.exists()
    assert "Removed 2 things" in terminal.run("gc", "--older-than", "0")
    assert not staged.exists()
    assert terminal.run("gc", "--older-than", "0s") == "There is nothing to remove.\n"


def test_gc_leaves_alone_what_is_young(terminal: Terminal) -> None:
    assert terminal.run("gc") == "There is nothing to remove.\n"


def test_gc_reports_what_it_spares(terminal: Terminal) -> None:
    terminal.damage(200_000, 5)
    text = terminal.run("gc", "--older-than", "0", code=1)
    assert "note: no data of job job-1 is removed" in text


def test_gc_for_programs(terminal: Terminal) -> None:
    found = terminal.json("gc", "--dry-run", "--older-than", "0", "-j", JOB)
    assert [(each["what"], each["job_id"]) for each in found["garbage"]] == [("void checkpoint", JOB)]
    assert found["dry_run"] is True


def test_gc_of_ended_jobs(terminal: Terminal) -> None:
    terminal.made.end()
    assert "ended job" in terminal.run("gc", "--older-than", "0", "--ended-jobs")
    assert terminal.run("list").endswith("\n\nNo job.\n")
