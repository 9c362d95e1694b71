"""Every word of the glossary is a word of the code."""

import ast
import re
from functools import cache

from tests.foundation.clone import ROOT

GLOSSARY = (ROOT / "docs" / "start" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|`]+) \| ((?:`\w+`(?:, )?)+) \| [^|]+ \|$", GLOSSARY, re.MULTILINE)
FOLDERS = ("seatunnel_core", "seatunnel_storage_api", "plugins")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


@cache
def names() -> frozenset[str]:
    """Return every name that the code defines or uses: of modules, classes, functions, attributes and arguments."""
    found: set[str] = set()
    for file in (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")):
        found |= {file.stem, file.parent.name}
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            values = (getattr(node, key, None) for key in ("name", "attr", "id", "arg"))
            found |= {value for value in values if isinstance(value, str)}
    return frozenset(found)


@cache
def phrases() -> str:
    """Return the words of every name, one name on each line: ``PendingCheckpoint`` is ``pending checkpoint``."""
    return "\n".join(" ".join(_WORD.findall(name)).lower() for name in sorted(names()))


def test_every_line_of_the_tables_is_read() -> None:
    lines = [line for line in GLOSSARY.splitlines() if line.startswith("| ") and not line.startswith("| word |")]
    assert len(ROWS) == len(lines) > 40


def test_words_and_names_are_those_of_the_code() -> None:
    """One test, because all of the code is read for it."""
    words = [word for words, _ in ROWS for word in words.split(", ")]
    assert [word for word in words if not re.search(rf"\b{word}s?\b", phrases())] == [], "no name has these words"
    assert [name for _, named in ROWS for name in re.findall(r"\w+", named) if name not in names()] == []


def test_no_word_stands_twice() -> None:
    words = [word for words, _ in ROWS for word in words.split(", ")]
    assert len(words) == len(set(words))
