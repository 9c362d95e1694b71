"""``python -m seatunnel_core.server.aside``: one request as JSON on stdin, the response as JSON on stdout.

With ``--stay``, the process handles several requests, one per line. The process ends at the end of its input or after
``IDLE_S``.
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from seatunnel_core import stored
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.server.aside.options import options
from seatunnel_core.server.aside.planning import check, plan
from seatunnel_core.server.aside.stored_jobs import compare, verify
from seatunnel_core.server.aside.submissions import encrypt, split
from seatunnel_core.server.errors import RequestError
from seatunnel_storage_api.errors import CheckpointStorageError

IDLE_S = 300

ANSWERS: Mapping[str, Callable[[Any], Any]] = {
    "check": check,
    "compare": compare,
    "encrypt": encrypt,
    "options": options,
    "plan": plan,
    "split": split,
    "verify": verify,
}


def answered(request: Any) -> dict[str, Any]:
    """Return the response to a request, or an error response."""
    try:
        return {"answer": ANSWERS[stored.text(request, "do")](request)}
    except RequestError as error:
        return {"error": str(error), "code": error.reason, "status": error.status}
    except (SeaTunnelError, CheckpointStorageError) as error:
        return {"error": str(error), "code": error.code}


def main() -> None:
    """Handle one request, or requests in sequence."""
    answer_to = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of plugins must not mix with the response
    with answer_to:
        if "--stay" not in sys.argv[1:]:
            _send(answer_to, _answer(sys.stdin.buffer.read()))
            return
        while line := _next_line():
            _send(answer_to, _answer(line) + b"\n")


def _answer(request: bytes) -> bytes:
    asked = stored.parse(request)
    signal.alarm(stored.number(asked, "limit_s"))  # otherwise this process could outlive a killed agent
    answer = json.dumps(answered(asked)).encode()
    signal.alarm(0)
    return answer


def _send(answer_to: BinaryIO, answer: bytes) -> None:
    """Write a response. If the agent that reads it was killed, end the process without a traceback in the log."""
    try:
        answer_to.write(answer)
        answer_to.flush()
    except BrokenPipeError:
        os._exit(1)


def _next_line() -> bytes:
    """Return the next request; empty at the end of the input or after ``IDLE_S``."""
    ready, _, _ = select.select([sys.stdin], [], [], IDLE_S)
    return sys.stdin.buffer.readline() if ready else b""


if __name__ == "__main__":
    main()
