"""``seatunnel --encrypt`` and ``--decrypt``: print the job file as JSON with its secrets encrypted or decrypted."""

import json
import sys
from functools import partial
from typing import Any

from seatunnel_core.cli.arguments import ShadeArguments
from seatunnel_core.config.document import Scalar
from seatunnel_core.config.file import load
from seatunnel_core.config.variables import Variables
from seatunnel_core.planning.encryption import decrypted_job, encrypted_job


def shade(arguments: ShadeArguments) -> None:
    """Print the job file with its secrets encrypted or decrypted."""
    every_letter = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    print(json.dumps(_shaded(arguments), indent=2, ensure_ascii=not every_letter))


def _shaded(arguments: ShadeArguments) -> dict[str, Any]:
    read, origin = partial(load, arguments.config), str(arguments.config)
    variables = Variables(arguments.variables)
    if not arguments.encrypt:
        return decrypted_job(read, origin, variables)
    left: list[str] = []
    job = encrypted_job(read, origin, variables, partial(_note, left))
    for line in left:
        print(line, file=sys.stderr)
    return job


def _note(left: list[str], key: str, scalar: Scalar, reason: str) -> None:
    left.append(f"{scalar.position}: {key!r} remains unchanged: {reason}")
