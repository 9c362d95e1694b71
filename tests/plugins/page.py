"""The tables of ``docs/evidence/mistakes-storages.md``: each mistake with a storage, and its message.

A row is ``| mistake | `message` |``; in the message, ``<…>`` stands for any text.
"""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "mistakes-storages.md"
_ROW = re.compile(r"\| (?P<mistake>[^|]+?) \| `(?P<message>[^`]+)` \|")
_PLACEHOLDER = re.compile(r"<[^<>]+>")


def mistakes(name: str) -> dict[str, str]:
    """Return the messages of a storage by mistake, with their placeholders."""
    section = _PAGE.read_text(encoding="utf-8").partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
    rows = [match for match in map(_ROW.fullmatch, section.splitlines()) if match]
    table = {row["mistake"]: row["message"] for row in rows}
    assert table, f"the page has no table for {name}"
    assert len(table) == len(rows), f"the table for {name} has a mistake twice"
    return table


def require_told(template: str, message: str) -> None:
    """Assert that the message is the one on the page."""
    pattern = ".+?".join(re.escape(part) for part in _PLACEHOLDER.split(template))
    assert re.fullmatch(pattern, message, re.DOTALL), f"\nthe page says: {template}\nthe message is: {message}"
