"""Printing of errors and documentation pages for ``seatunnel help``."""

import re
import shutil
import textwrap

from seatunnel_core.manual.errors import coded, error_page
from seatunnel_core.manual.pages import page_text

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_HEAD = "| option | type | default | meaning |\n|---|---|---|---|\n"
_CELLS = re.compile(r"(?<!\\)\|")
_WIDEST = 100


def terminal_width() -> int:
    """Return the width of the terminal in columns."""
    return min(_WIDEST, shutil.get_terminal_size().columns)


def print_page(name: str) -> bool:
    """Print the page with this name, and return True if it exists."""
    text = page_text(name)
    if text is None:
        return False
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=terminal_width()).print(Markdown(for_terminal(text)))
    return True


def for_terminal(text: str) -> str:
    """Return a page's Markdown with its option tables converted to lists, because the tables are too wide."""
    before, *tables = _COMMENT.sub("", text).split(_HEAD)
    parts = [before]
    for table in tables:
        parts.append("Options:\n\n")
        lines = table.splitlines(keepends=True)
        end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
        parts += [*map(_listed, lines[:end]), *lines[end:]]
    return "".join(parts)


def _listed(row: str) -> str:
    _, names, kind, default, meaning, _ = (cell.strip().replace("\\|", "|") for cell in _CELLS.split(row.strip()))
    need = default if default.startswith("**required**") or not default else f"default {default}"
    return f"* {names.replace('<br>', ', ')} ({', '.join(part for part in (kind, need) if part)}): {meaning}\n"


def error_text(code: str) -> str:
    """Return the description of an error code (case-insensitive); empty if the code does not exist."""
    kind = coded().get(code.upper())
    if kind is None:
        return ""
    page, width = error_page(kind), terminal_width()
    a_kind_of = f"; base class: {page.parent}" if page.parent else ""
    parts = [f"{heading}:\n{_wrapped(text, width)}" for heading, text in page.parts.items()]
    return "\n\n".join([f"{page.code}: {page.name}{a_kind_of}", _wrapped(page.meaning, width), *parts])


def _wrapped(text: str, width: int) -> str:
    indent = "  "
    lines = (textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent) for line in text.splitlines())
    return "\n".join(line for wrapped in lines for line in wrapped)
