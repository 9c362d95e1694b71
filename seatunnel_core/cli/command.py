"""Base class of parsed arguments, argument parser, and subcommands.

A new subcommand needs a module with a class derived from ``Command`` and a ``Subcommand``, a line in ``subcommands``
and a case in ``main``.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from attrs import frozen

from seatunnel_core.errors import UsageError

DONE = 0
FAILED = 1
WRONG_USAGE = 2
STOPPED = 130


class Command:
    """Parsed arguments of a command line, executed by ``main``."""


class HelpText(argparse.HelpFormatter):
    """Help formatter that keeps line breaks, and indents the continuation of long lines.

    If a line has two columns and the second one takes at least half of the width, only the second one is wrapped.
    """

    def start_section(self, heading: str | None) -> None:
        """Begin a section and wrap its heading."""
        super().start_section(heading and "\n".join(_wrapped(heading, self._width - 1, "")))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(part for line in text.splitlines() for part in _wrapped(line, width, indent))


def _wrapped(line: str, width: int, indent: str) -> list[str]:
    import textwrap

    columns = re.match(r"\s*(?:\S+ )*\S+ {2,}(?=\S)|\s*", line)
    assert columns is not None
    place = len(columns[0]) if len(columns[0]) <= width // 2 else len(line) - len(line.lstrip()) + 4
    hanging = indent + " " * place
    return textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False) or [""]


class Parser(argparse.ArgumentParser):
    """Argument parser that raises ``UsageError`` instead of ending the process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": HelpText, **options})

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` with the message as a sentence."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


@frozen(kw_only=True)
class Subcommand:
    """Named subcommand, such as ``seatunnel init``."""

    name: str
    summary: str
    """Short description for ``seatunnel --help``, without a full stop."""

    parse: Callable[[Parser, Sequence[str]], Command]
    """Function that receives an empty parser and the arguments after the subcommand's name, and parses them."""
