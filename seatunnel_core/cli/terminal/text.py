"""Layout of messages and tables: line wrapping, aligned columns, and colours unless NO_COLOR is set."""

import re
import textwrap
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

_COLOURS = (
    (r"^ERROR|^Job .* FAILED$|^The job failed:.*|^[\d,]+ pipelines? failed:$|  failed(?=  )", "red"),
    (r"^WARNING|^[\d,]+ warnings?:$|^warning:| added to .*", "yellow"),
    (r"^Job .* finished$|  finished(?=  )", "green"),
)


def in_colour(text: str) -> "Text":
    """Return a message or a closing table with successes and failures in colour."""
    from rich.text import Text

    shown = Text(text)
    for pattern, style in _COLOURS:
        for found in re.finditer(pattern, text, re.MULTILINE):
            shown.stylize(style, *found.span())
    return shown


def wrapped(text: str, width: int) -> str:
    """Wrap long lines between words. A command that resumes a job stays on one line, so that it can be copied."""
    return "\n".join(
        line
        if len(line) <= width or " -r " in line
        else textwrap.fill(
            line,
            width,
            subsequent_indent=" " * (len(line) - len(line.lstrip())),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def table(rows: Sequence[Sequence[str]], right: Collection[int] = (), indent: str = "  ") -> str:
    """Return rows of cells as an aligned table. The first row is the heading; ``right`` columns are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)
