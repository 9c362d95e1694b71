"""The table of mistakes on a storage's page in ``docs/guides/storages/``: what it says is what a person is told.

A row is ``| mistake | `message` |``; in the message, ``<…>`` stands for any text.
"""

import re
from pathlib import Path

_PAGES = Path(__file__).parents[2] / "docs" / "guides" / "storages"
_ROW = re.compile(r"\| (?P<mistake>[^|]+?) \| `(?P<message>[^`]+)` \|")
_PLACEHOLDER = re.compile(r"<[^<>]+>")


def mistakes(name: str) -> dict[str, str]:
    """By mistake: the message with its placeholders."""
    lines = (_PAGES / f"{name}.md").read_text().splitlines()
    rows = [match for match in map(_ROW.fullmatch, lines) if match]
    table = {row["mistake"]: row["message"] for row in rows}
    assert len(table) == len(rows), f"{name}.md names a mistake twice"
    return table


def require_told(template: str, message: str) -> None:
    """The message is what the page says."""
    pattern = ".+?".join(re.escape(part) for part in _PLACEHOLDER.split(template))
    assert re.fullmatch(pattern, message, re.DOTALL), f"\nthe page says:     {template}\na person is told: {message}"
