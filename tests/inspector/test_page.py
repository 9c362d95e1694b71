"""What ``docs/guides/inspector.md`` says of the Python API and of the JSON is so."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core import inspector
from seatunnel_core.cli.main import main
from tests.inspector.made import JOB, Made

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "inspector.md").read_text("utf-8")


def test_the_example_runs(made: Made) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    program = example.replace("config/seatunnel.yaml", made.storage.namespace)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "job-1 open 6 sound\n", done.stderr


def test_every_function_of_the_page_is_there_and_the_other_way_round() -> None:
    (table,) = re.findall(r"^\| function \| purpose \|\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`(\w+)[.(]", table))
    functions = {name for name in inspector.__all__ if name[0].islower()} - {"seems_to_run", "record"}
    assert functions <= named
    assert all(hasattr(inspector, name) for name in named)


def keys(value: Any) -> Iterator[str]:
    """Every key of a JSON value, but those that name facts."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from keys(below) if key != "facts" else ()
    elif isinstance(value, list):
        for each in value:
            yield from keys(each)


@pytest.mark.parametrize("verb", ["list", "show", "diff", "verify", "copy", "gc"])
def test_every_key_is_documented_and_the_other_way_round(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    arguments = {
        "list": ["-j", JOB],
        "show": [JOB],
        "diff": [JOB],
        "verify": [],
        "copy": ["--to", f"{tmp_path}/copy/"],
        "gc": ["--older-than", "0", "--dry-run"],
    }
    if verb == "verify":
        made.damage(inspector.survey_job(made.storage, JOB).checkpoints[-1])
    main(["checkpoints", verb, *arguments[verb], "--from", made.storage.namespace, "--json"])
    (row,) = re.findall(rf"^\| `{verb}`(?:, `export`)? \| (`.*) \|$", PAGE, re.MULTILINE)
    documented = set(re.findall(r"`(\w+)(?:\[\]|\{\})?`", row)) - {"open", "ended", "deleted", "unreadable"}
    assert set(keys(json.loads(capsys.readouterr().out))) == documented
