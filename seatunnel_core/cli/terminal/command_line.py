"""Command line of this process, which other users of the machine can read with ``ps``."""

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path

from seatunnel_storage_api.secret import shown

_ARG_START = 45
"""Index of ``arg_start`` among the fields of ``/proc/self/stat`` after the process name; ``arg_end`` follows."""


def hide_values(values: Collection[str]) -> None:
    """Remove the values of ``NAME=VALUE`` arguments from this process's command line. Has an effect only on Linux.

    The values are not replaced by placeholders, which would show their length.
    """
    hidden = {value.encode() for value in values}
    with contextlib.suppress(OSError, ValueError, IndexError):  # not Linux, or /proc is not accessible
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_START + 1])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            before = memory.read(end - start)
            after = b"\0".join(_without(argument, hidden) for argument in before.split(b"\0"))
            if after != before:
                memory.seek(start)
                memory.write(after.ljust(len(before), b"\0"))


def secret_values(arguments: Sequence[str]) -> set[str]:
    """Return the arguments that may be secret: the values of all variables, and Java options with a password.

    All variables are included because only the job file determines which of them are secrets.
    """
    found = set[str]()
    flags = iter(arguments)
    for flag in flags:
        variable = next(flags, "") if flag in ("-i", "--variable") else flag
        if flag.startswith(("-i", "--variable")):
            _, _, value = variable.partition("=")
            found |= {value, value.partition("=")[2]} if variable.startswith("--variable=") else {value}
        elif flag.startswith("-DJvmOption="):
            option = flag.removeprefix("-DJvmOption=")
            found |= {option} if shown("option", option) != option else set()
    return found - {""}


def _without(argument: bytes, values: Collection[bytes]) -> bytes:
    name, equals, value = argument.partition(b"=")
    return name + equals if value in values else argument
