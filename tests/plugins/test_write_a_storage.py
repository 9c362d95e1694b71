"""``docs/write-a-storage.md``, followed to the letter by somebody who has nothing but that page and a clone."""

import os
import re
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-storage.md").read_text(encoding="utf-8")

MEMORY = "/dev/shm"
"""A disk that need not survive: the kit syncs thousands of times."""


@frozen
class Step:
    """A block of the page."""

    kind: str
    file: str
    """That the line above the block names; empty if none does."""

    text: str


def steps() -> Iterator[Step]:
    for above, kind, text in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        named = re.search(r"`([\w./-]+)`:$", above)
        yield Step(kind, named[1] if named else "", text)


@pytest.fixture
def stranger() -> Iterator[Path]:
    """An empty folder, with a home beside it."""
    with TemporaryDirectory(prefix="stranger-", dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        (Path(folder) / "home").mkdir()
        project = Path(folder) / "seatunnel-storage-sqlite"
        project.mkdir()
        yield project


def type_in(project: Path, command: str) -> str:
    """What a shell says. What pip would fetch from a registry it finds in the environment that runs this test."""
    if command.startswith(".venv/bin/pip "):
        (site,) = project.glob(".venv/lib/python*/site-packages")
        (site / "already_there.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "PYTHON"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(project.parent / "home"),
        "TMPDIR": str(project.parent),
        "SEATUNNEL": str(ROOT),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # which is how pip reads "without"
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    done = subprocess.run(["sh", "-c", command], cwd=project, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert (done.returncode == 0) != ("BROKEN" in said), f"{command}\n{said}"
    return said


@pytest.mark.install
@pytest.mark.timeout(600)
def test_the_page_leads_to_a_storage_that_a_job_uses(stranger: Path) -> None:
    said = ""
    for step in steps():
        if step.file:
            (stranger / step.file).parent.mkdir(exist_ok=True)
            (stranger / step.file).write_text(step.text, encoding="utf-8")
        elif step.kind == "shell":
            said = "".join(type_in(stranger, command) for command in step.text.splitlines())
        elif said:
            expected = re.escape(step.text.strip("\n")).replace(r"\*", ".*").replace(r"\ ", " ")
            assert re.search(expected, said), f"{step.text} was promised, but this was said:\n{said}"
    assert "| 13 | kept (2) |" in (stranger / "PROMISES.md").read_text()
    assert list((stranger / "first/output/cities").rglob("*.parquet"))
    with closing(sqlite3.connect(stranger.parent / "home" / "checkpoints.db")) as database:
        names = [path for (path,) in database.execute("SELECT path FROM blob")]
    assert any(".completed-point." in name for name in names), names


def test_every_part_of_the_project_is_on_the_page() -> None:
    tree = PAGE.partition("```text\n")[2].partition("```")[0]
    named = [line.split()[0] for line in tree.splitlines()[1:]]
    assert named == [step.file for step in steps() if step.file][: len(named)]


def test_the_page_needs_no_more_than_the_example_says() -> None:
    """36 lines, says the page."""
    lines = (ROOT / "examples/minimal_plugin/minimal_plugin.py").read_text().splitlines()
    assert f"in {len([line for line in lines if line.strip()])} lines" in PAGE
