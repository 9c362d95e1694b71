"""The project's text is plain English: candidates of unnatural English become fewer, never more."""

from collections import Counter
from pathlib import Path

import pytest

from tests.foundation.plain_english import ALLOWED, ROOT, files, findings

CEILINGS = {
    "docs/design": 25,
    "docs/evidence": 59,
    "docs/reference": 23,
    "examples/demo": 1,
    "plugins/seatunnel-storage-mapstore": 1,
    "seatunnel_core/checkpoint": 3,
    "seatunnel_core/claiming": 5,
    "seatunnel_core/config": 2,
    "seatunnel_core/connector_api": 1,
    "seatunnel_core/connectors": 103,
    "seatunnel_core/page": 1,
    "seatunnel_core/rows": 2,
    "seatunnel_core/transforms": 1,
    "seatunnel_storage_api": 2,
    "seatunnel_storage_api/testing": 5,
    "seatunnel_core/clients": 6,
}
"""Maximum number of findings of each folder; 0 for a folder that is missing.

Lower it when the text improves. Move it along with files that move.
"""


def found(text: str, name: str = "page.md") -> list[tuple[int, str]]:
    return [(each.line, each.rule) for each in findings(Path(name), text)]


def test_no_folder_has_more_findings_than_it_had() -> None:
    all_of_them = [each for file in files() for each in findings(file)]
    counts = Counter(each.folder for each in all_of_them)
    above = {folder for folder, count in counts.items() if count > CEILINGS.get(folder, 0)}
    listed = "\n".join(str(each) for each in all_of_them if each.folder in above)
    over = "; ".join(f"{folder}: {counts[folder]}, ceiling {CEILINGS.get(folder, 0)}" for folder in sorted(above))
    assert not above, (
        f"{over}. Write plain English, or add the words to ALLOWED in plain_english.py with a reason:\n{listed}"
    )


def test_ceilings_are_of_folders_that_exist() -> None:
    assert [folder for folder in CEILINGS if not (ROOT / folder).exists()] == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Nobody reads it.", "person"),
        ("The page tells its age.", "tell"),
        ("A host of its own.", "archaic"),
        ("The state lies in a file.", "stand"),
        ("Read what is there.", "come"),
        ("The job goes on.", "phrase"),
    ],
)
def test_a_rule_finds_its_words(text: str, rule: str) -> None:
    assert found(f"Plain.\n\n{text}\n") == [(3, rule)]


def test_code_of_a_page_is_not_read() -> None:
    page = "Run `goes on` and\n[this](nobody.md).\n\n```text\nnobody is told\n```\n\n"
    page += "- list\n\n  ```text\n  whom\n  ```\n\nNobody.\n"
    assert found(page) == [(14, "person")]


def test_words_of_python_are_read_and_names_are_not() -> None:
    source = '"""Whether it goes on with ``nobody``."""\nnobody = tell("the host of its own", who)  # told again\n'
    assert found(source, "module.py") == [(1, "opening"), (1, "phrase"), (2, "archaic"), (2, "tell")]


def test_texts_and_comments_of_the_web_page_are_read() -> None:
    source = "const nobody = html`<p>Nobody</p>`;\nlet who = 'goes on'; // told\n/* someone\nlies in */\n"
    assert found(source, "page.js") == [(1, "person"), (2, "phrase"), (2, "tell"), (3, "person"), (4, "stand")]


def test_comments_of_job_files_are_read_and_values_are_not() -> None:
    assert found("# told\nurl = nobody // goes on\n", "job.conf") == [(1, "tell"), (2, "phrase")]


def test_what_is_allowed_is_not_found() -> None:
    assert found("Two rows are told apart. X stands for Y. Anyone who reads.\n") == []


def test_each_exception_has_a_reason() -> None:
    assert [pattern for pattern, reason in ALLOWED.items() if len(reason.split()) < 4] == []
