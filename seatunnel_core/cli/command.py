"""What every command of ``seatunnel`` is: parsed arguments that can be executed.

A new subcommand is a module with a class derived from ``Command`` and a ``Subcommand``, and a line in ``subcommands``.
"""

import argparse
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

from attrs import frozen

from seatunnel_core.errors import UsageError

DONE = 0
FAILED = 1
WRONG_USAGE = 2
STOPPED = 130


class Command(ABC):
    """The parsed arguments of one command line."""

    @abstractmethod
    def execute(self, *, last: bool) -> int:
        """Run the command and return its exit code.

        Imports here what only this command needs: ``seatunnel --help`` loads neither Spark nor Arrow.

        Args:
            last: Whether the process ends with the command.

        Raises:
            UsageError: It cannot be run with these arguments.
            SeaTunnelError: It failed.
        """


class Parser(argparse.ArgumentParser):
    """A parser that raises ``UsageError`` instead of ending the process, so that one place decides on exit codes."""

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` with the message, as a sentence."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


@frozen(kw_only=True)
class Subcommand:
    """A command with a name of its own, such as ``seatunnel init``."""

    name: str
    summary: str
    """One clause for ``seatunnel --help``, without a full stop."""

    parse: Callable[[Parser, Sequence[str]], Command]
    """Adds the arguments to an empty parser and parses those after the name."""
