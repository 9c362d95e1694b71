"""``python -m tests.cli.help.error_pages`` writes ``docs/reference/errors`` and its overview from the error classes."""

import os
import re
from pathlib import Path

from seatunnel_core.manual import pages as documentation
from seatunnel_core.manual.errors import AGAIN, MESSAGE, Coded, ErrorPage, coded, error_page
from tests.planning.options_page import cell

DOCS = Path(__file__).parents[3] / "docs" / "reference"
FOLDER = DOCS / "errors"
OURS = ("seatunnel_core.", "seatunnel_storage_api.")
NOT_YET = "seatunnel_core.server."
"""The command line does not load this package, so ``seatunnel help`` does not know its errors."""

_MADE = "<!-- made by python -m tests.cli.help.error_pages from the class in the code -->"
_HEAD = """# Every error by its code

When a job or a command fails, a line after the message shows a code, as in `More: seatunnel help STALE-EPOCH`. That
command prints the page of the code. With `--log-format json`, log records contain the code as `code`, as do the
pipelines in a Python report. Codes do not change within a major version; messages may.

A plugin's error without a code has the code of its base class. Errors of other libraries and the operating system
have no code; see [failures](../guides/failures.md) for their handling. `python -m tests.cli.help.error_pages` generates
these pages from the classes in the code.

| code | meaning | retried |
|---|---|---|
"""
_AGAIN = {"Yes": "yes", "No": "no", "Only": "it depends"}
"""What the paragraph about it begins with, and what the table says."""


def is_ours(kind: type[Exception]) -> bool:
    """Return whether a class of this project has a page; other tests define more classes."""
    return kind.__module__.startswith(OURS) and not kind.__module__.startswith(NOT_YET)


def ours() -> dict[str, Coded]:
    """Return the classes that have a page, by code."""
    return {code: kind for code, kind in coded().items() if is_ours(kind)}


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    found = {FOLDER / f"{code}.md": _page(error_page(kind)) for code, kind in ours().items()}
    return {**found, DOCS / "errors.md": _HEAD + "\n".join(_row(error_page(kind)) for kind in ours().values()) + "\n"}


def _row(page: ErrorPage) -> str:
    what = _linked(page.meaning.partition(". ")[0].removesuffix("."), DOCS)
    again = next(short for begin, short in _AGAIN.items() if page.parts[AGAIN].startswith(begin))
    return f"| [{page.code}](errors/{page.code}.md) | {cell(what)} | {again} |"


def _page(page: ErrorPage) -> str:
    lines = [_MADE, f"# {page.code}", "", _linked(page.meaning, FOLDER), ""]
    for heading, text in page.parts.items():
        lines += [f"## {heading}", "", f"```text\n{text}\n```" if heading == MESSAGE else _linked(text, FOLDER), ""]
    a_kind_of = f"; base class: [{page.parent}]({page.parent}.md)" if page.parent else ""
    lines += [f"Python class: `{page.name}`{a_kind_of}. [All errors](../errors.md)", ""]
    return "\n".join(lines)


def _linked(text: str, folder: Path) -> str:
    """Return ``text``, for a page in ``folder``, with links where it names a page of the documentation."""
    named = documentation.pages()

    def link(command: re.Match[str]) -> str:
        return f"[{command[0]}]({os.path.relpath(str(named[command[1]]), folder)})"

    return re.sub(r"`seatunnel help ([a-z-]+)`", link, text)


def write() -> None:
    made = pages()
    FOLDER.mkdir(exist_ok=True)
    for page in set(FOLDER.glob("*.md")) - set(made):
        page.unlink()
    for page, text in made.items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
