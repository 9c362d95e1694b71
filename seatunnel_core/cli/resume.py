"""Command that resumes a job, for the user to copy."""

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence

from seatunnel_storage_api.secret import HIDDEN, shown

_WITH_VALUE = (
    "-r",
    "--restore",
    "--set-job-id",
    "--restore-with-checkpoint",
    "--restore-with-savepoint",
    "--from-savepoint",
    "--from-storage",
    "--begun-to",
)
_ALONE = ("--retract", "--accept-duplicates", "--allow-non-restored-state", "--take-over")


def resume_command(typed: Sequence[str], job_id: str, secrets: Collection[str] = ()) -> str:
    """Return the command that resumes a job: the arguments as typed, with ``-r JOB_ID`` at the end.

    Options that choose an ID or a restore point are omitted, because they took effect when the job started. Values of
    secrets are omitted, because the command may be logged: variables in ``secrets``, and variables with names that
    suggest a secret.
    """
    kept: list[str] = []
    arguments = iter(typed)
    for argument in arguments:
        flag, equals, _ = argument.partition("=")
        if flag in _WITH_VALUE:
            if not equals:
                next(arguments, None)
        elif argument in _ALONE or (argument.startswith("-r") and not argument.startswith("--")):
            continue
        elif argument in ("-i", "--variable"):
            kept += [argument, _hidden(next(arguments, ""), secrets)]
        elif flag == "--variable":
            kept.append(f"{flag}={_hidden(argument.removeprefix('--variable='), secrets)}")
        elif argument.startswith("-i") and not argument.startswith("--"):
            kept.append(f"-i{_hidden(argument.removeprefix('-i'), secrets)}")
        else:
            kept.append(argument)
    return shlex.join([*program(), *kept, "-r", job_id])


def program() -> list[str]:
    """Return the command ``seatunnel`` as a shell can run it: by name, by path, or as a module of this interpreter."""
    given = os.environ.get("SEATUNNEL_COMMAND")
    if given:
        return [given]
    started = sys.argv[0]
    name = os.path.basename(started)
    if name == "__main__.py" or not os.path.isfile(started):
        return [sys.executable, "-m", "seatunnel_core.cli"]
    found = shutil.which(name)
    return [name] if found is not None and os.path.samefile(found, started) else [started]


def _hidden(variable: str, secrets: Collection[str]) -> str:
    name, _, value = variable.partition("=")
    return f"{name}={HIDDEN if name in secrets else shown(name, value)}"
