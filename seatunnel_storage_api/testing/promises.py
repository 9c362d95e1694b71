"""Numbers and wording of the promises, and the promises that a test checks."""

import re
from collections.abc import Iterable, Mapping

from seatunnel_storage_api import storage

_PROMISE = re.compile(r"^(\d+)\. +(.+(?:\n +\S.*)*)", re.MULTILINE)
_NAMED = re.compile(r"test((?:_p\d\d)+)_")


def _read(contract: str) -> dict[int, str]:
    return {int(number): " ".join(text.split()).replace("``", "`") for number, text in _PROMISE.findall(contract)}


PROMISES: Mapping[int, str] = _read(storage.__doc__ or "")
"""Promises of all storages, as listed in ``seatunnel_storage_api.storage``."""


def promises_of(test: str) -> tuple[int, ...]:
    """Return the numbers of the promises at the start of a test's name: 3 and 5 for ``test_p03_p05_any_history``."""
    named = _NAMED.match(test.rpartition("::")[2])
    return tuple(int(number) for number in named[1].split("_p")[1:]) if named else ()


def short_name(number: int) -> str:
    """Return the short name of a promise: its first words, which are in italics."""
    return PROMISES[number].split("*")[1]


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in a compact form: ``1-4, 7`` for 1, 2, 3, 4 and 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
