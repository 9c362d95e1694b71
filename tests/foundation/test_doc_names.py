"""What pages name of the code is there: modules, classes and files, which move."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from tests.foundation.snippets import PAGES, ROOT

_DOTTED = re.compile(r"`((?:seatunnel_core|seatunnel_storage_api)(?:\.\w+)+)")
_FILE = re.compile(r"`((?:seatunnel_core|seatunnel_storage_api|tests|examples|plugins)/[\w./-]*\w/?)`")
_OF_THE_PROTOCOL = re.compile(r"`((?:\w+/)*\w+\.py)`")

READERS_OWN = {"tests/test_sqlite.py"}
"""What a page has its reader write."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_the_code_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for name in sorted(set(_DOTTED.findall(text))) if not is_there(name)] == []
    files = sorted(set(_FILE.findall(text)) - READERS_OWN)
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_files_of_the_protocol_exist() -> None:
    """They stood there by names of a former layout: `fit.py`, `source_vertex.py`."""
    page = ROOT / "docs/design/checkpoint-protocol.md"
    folders = (ROOT, ROOT / "seatunnel_core/checkpoint", ROOT / "tests/checkpoint")
    named = sorted(set(_OF_THE_PROTOCOL.findall(page.read_text(encoding="utf-8"))))
    assert [name for name in named if not any((folder / name).is_file() for folder in folders)] == []


def is_there(name: str) -> bool:
    """Return whether it is a module, or something in one."""
    found, *rest = name.split(".")
    value: object = importlib.import_module(found)
    for part in rest:
        found = f"{found}.{part}"
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        try:
            value = importlib.import_module(found)
        except ImportError:
            return False
    return True


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["name"].startswith("Layers:"))
    shown = re.search(r"```text\n(  cli .*?)  ```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    assert shown is not None
    assert [line.strip().replace(" · ", " | ") for line in shown[1].splitlines()] == [
        line.replace("seatunnel_core.", "") for line in layers
    ]


def test_the_ten_questions_lead_to_code() -> None:
    page = (ROOT / "docs/design/ten-questions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^   Read `(\S+\.py)`(.*)\.$", page, re.MULTILINE)
    assert len(rows) >= 10
    for file, named in rows:
        text = (ROOT / file).read_text(encoding="utf-8")
        names = re.findall(r"`(\w+)`", named)
        assert [name for name in names if not re.search(rf"\b(def|class) {name}\b", text)] == [], file
