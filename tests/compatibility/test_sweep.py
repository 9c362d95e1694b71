"""The sweep has a decided row for whatever can be written into a job."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from seatunnel_core.transforms.sql.functions.catalog import FUNCTIONS
from tests.compatibility.sweep import PAGE, TYPES, declared, facts, group_rows, names_rows, page


def test_every_option_has_a_row_and_every_row_an_option() -> None:
    ours = {(owner, key) for owner, options in declared().items() for key in options}
    rows = {(owner, key) for group in facts()["groups"].values() for owner in group["of"] for key in group["options"]}
    assert sorted(ours - rows) == [], "write into options.yaml what SeaTunnel has for these"
    assert sorted(rows - ours) == [], "options.yaml names what is not here any more"


def test_every_row_is_decided() -> None:
    """Ours and SeaTunnel's are the same, or it is said why not; a reason that is written twice is one too many."""
    found, ours = facts(), declared()
    rows = [row for group in found["groups"].values() for row in group_rows(group, ours)]
    rows += [*names_rows(found["functions"], FUNCTIONS), *names_rows(found["types"], TYPES)]
    assert [row for row in rows if not row.decision] == []
    assert len(rows) > 400


def test_reasons_are_about_what_there_is() -> None:
    found = facts()
    for kind, known in (
        ("functions", {*FUNCTIONS, *found["functions"]["there"]}),
        ("types", {*TYPES, *found["types"]["there"]}),
    ):
        assert sorted(set(found[kind]["why"]) - known) == []


def test_the_page_is_what_the_facts_and_the_declarations_say() -> None:
    """``python tests/compatibility/sweep.py`` writes the page."""
    assert PAGE.read_text(encoding="utf-8") == page()
