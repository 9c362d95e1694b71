"""Each row on the page of a cluster's failures names tests, or faults of the nemesis, that are there."""

import re

import pytest

from tests.foundation.snippets import ROOT
from tests.server.nemesis.faults import KINDS

_ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs/guides/cluster-failures.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.endswith("| verified by |")
]
_TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)
}


def test_the_page_has_rows() -> None:
    assert len(_ROWS) > 50


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[0][:40])
def test_a_row_names_what_is_there(row: list[str]) -> None:
    assert len(row) == 4
    named = re.findall(r"`([^`]+)`", row[3])
    assert named
    assert [name for name in named if name not in _TESTS and name not in KINDS] == []
