"""``python -m seatunnel_core.server.aside``: one request as JSON on stdin, its answer as JSON on stdout."""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.aside.checking import check
from seatunnel_core.server.aside.options import options
from seatunnel_core.server.aside.stored_jobs import compare, verify
from seatunnel_storage_api.errors import CheckpointStorageError

ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "check": check,
    "compare": compare,
    "options": options,
    "verify": verify,
}


def answered(request: Any) -> dict[str, Any]:
    """Return the answer to a request, or why there is none."""
    try:
        return {"answer": ANSWERS[stored.text(request, "do")](request)}
    except (SeaTunnelError, CheckpointStorageError) as error:
        return {"error": str(error), "code": error.code}


def main() -> None:
    """Answer one request."""
    request = stored.parse(sys.stdin.buffer.read())
    signal.alarm(stored.number(request, "limit_s"))  # its agent may be killed, and would not end it
    answer_to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what plugins print is no part of the answer
    with answer_to:
        answer_to.write(json.dumps(answered(request)).encode())


if __name__ == "__main__":
    main()
