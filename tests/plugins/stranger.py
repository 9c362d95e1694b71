"""A page of the documentation, followed to the letter by somebody who has nothing but that page and a clone."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

ROOT = Path(__file__).parents[2]

MEMORY = "/dev/shm"
"""A disk that need not survive: the kit syncs thousands of times."""


@frozen
class Step:
    """A block of a page."""

    kind: str
    file: str
    """That the line above the block names; empty if none does."""

    text: str


def steps(page: str) -> Iterator[Step]:
    for above, kind, text in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        named = re.search(r"`([\w./-]+)`:$", above)
        yield Step(kind, named[1] if named else "", text)


@contextmanager
def empty_folder(name: str) -> Iterator[Path]:
    """An empty folder, with a home beside it."""
    with TemporaryDirectory(prefix="stranger-", dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        (Path(folder) / "home").mkdir()
        project = Path(folder) / name
        project.mkdir()
        yield project


def follow(page: str, project: Path, failing: str) -> None:
    """Do what the page says, step by step, and find what it promises that will be said.

    Args:
        failing: what a command says that fails on purpose; no other may fail.
    """
    said = ""
    for step in steps(page):
        if step.file:
            (project / step.file).parent.mkdir(exist_ok=True)
            (project / step.file).write_text(step.text, encoding="utf-8")
        elif step.kind == "shell":
            said = "".join(type_in(project, command, failing) for command in step.text.splitlines())
        elif said:
            expected = re.escape(step.text.strip("\n")).replace(r"\*", ".*").replace(r"\ ", " ")
            assert re.search(expected, said), f"{step.text} was promised, but this was said:\n{said}"


def type_in(project: Path, command: str, failing: str) -> str:
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
    assert (done.returncode == 0) != (failing in said), f"{command}\n{said}"
    return said
