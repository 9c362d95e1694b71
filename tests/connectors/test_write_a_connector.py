"""``docs/start/write-a-connector.md``: what it shows are the examples, and they hold what it says."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from tests.plugins.stranger import ROOT, empty_folder, follow, steps

for example in ("minimal_source", "minimal_sink"):
    sys.path.insert(0, str(ROOT / "examples" / example))

from test_minimal_sink import TestJsonLines  # noqa: E402, F401 - the kit, as the page says
from test_minimal_source import TestLogLines  # noqa: E402, F401

PAGE = (ROOT / "docs" / "start" / "write-a-connector.md").read_text(encoding="utf-8")
EXAMPLES = {"log-lines": "minimal_source", "json-lines": "minimal_sink"}
FILES = {step.file: step for step in steps(PAGE) if step.file}


@pytest.mark.parametrize("name", [name for name in FILES if name.split("/")[0] in EXAMPLES])
def test_the_page_shows_the_examples(name: str) -> None:
    folder, _, file = name.partition("/")
    assert FILES[name].text == (ROOT / "examples" / EXAMPLES[folder] / file).read_text(encoding="utf-8")


def test_every_part_of_the_projects_is_on_the_page() -> None:
    tree = PAGE.partition("```text\n")[2].partition("```")[0]
    folder, named = "", []
    for name in (line.split()[0] if line.startswith(" ") else line for line in tree.splitlines()):
        folder = name if name.endswith("/") else folder
        named += [] if name.endswith("/") else [folder + name]
    assert named == list(FILES)[: len(named)]


@pytest.mark.parametrize("name", EXAMPLES.values())
def test_an_example_has_at_most_50_lines(name: str) -> None:
    lines = (ROOT / "examples" / name / f"{name}.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 50


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment for a process to which all plugins of the page are installed, as pip would leave them."""
    (tmp_path / "site").mkdir()
    paths = [tmp_path / "site"]
    for name, step in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(step.text)
        if name.endswith("pyproject.toml"):
            paths.append((tmp_path / name).parent)
            found = tmp_path / "site" / f"{paths[-1].name.replace('-', '_')}-0.1.0.dist-info"
            found.mkdir()
            (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {paths[-1].name}\nVersion: 0.1.0\n")
            group, points = re.findall(r'entry-points\."([\w.]+)"\]\n(.*?)\n\n', step.text, re.DOTALL)[0]
            (found / "entry_points.txt").write_text(f"[{group}]\n{points}\n".replace('"', ""))
            assert Distribution.at(found).entry_points
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "HOME": str(tmp_path)}


def test_the_job_of_the_page_uses_all_of_them(tmp_path: Path, installed: dict[str, str]) -> None:
    """With the transform ``Shout`` put in, so that one job is enough."""
    job = tmp_path / "job.conf"
    job.write_text(FILES["job.conf"].text.replace("transform {", "transform { Shout { field = text },").replace(
        "pattern = apples", "pattern = APPLES"
    ))  # fmt: skip
    command = [sys.executable, "-m", "seatunnel_core.cli", "-c", str(job), "-m", "local[1]"]
    done = subprocess.run(command, cwd=tmp_path, env=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert rows == [
        {"file": "till.log", "line": 1, "text": "OPENED"},
        {"file": "till.log", "line": 2, "text": "SOLD 3 pears"},
    ]


@pytest.mark.install
@pytest.mark.timeout(900)
def test_the_page_followed_to_the_letter() -> None:
    with empty_folder("connectors") as stranger:
        follow(PAGE, stranger, failing="FAILED ")
