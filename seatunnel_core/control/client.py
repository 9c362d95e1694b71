"""Client side of the control socket."""

import contextlib
import json
import os
import socket
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from seatunnel_core import stored
from seatunnel_core.control.sockets import control_folder, socket_of, sockets
from seatunnel_core.errors import StoredValueError, UsageError

_CONNECT_S = 5


Status = dict[str, Any]
"""Status of a running job, with the keys that ``seatunnel_core.runtime.control_requests`` defines."""


def running(environment: Mapping[str, str] = os.environ, job_id: str | None = None) -> tuple[Status, ...]:
    """Return the status of each running job of this user on this machine, in order of start.

    Processes that do not respond are omitted; sockets of dead processes are removed.
    """
    found = _listening(sockets(control_folder(environment), job_id)).values()
    return tuple(sorted(found, key=lambda status: stored.seconds(status, "started_at")))


def ask(
    job_id: str,
    request: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    *,
    pids: Collection[int] | None = None,
) -> Any:
    """Send a request to the process that claimed the job last, and return its response.

    A node passes the ``pids`` of its worker processes, because others may run a job with the same ID.

    Raises:
        UsageError: No process of this user on this machine runs the job, it ended before it responded, or it rejected
            the request; the message states the reason.
    """
    folder = control_folder(environment)
    paths: Iterable[Path] = sockets(folder, job_id)
    if pids is not None:
        paths = {socket_of(folder, job_id, pid) for pid in pids}.intersection(paths)
    found = _listening(paths)
    if not found and pids is not None:
        raise UsageError(f"the job {job_id} is not running in a worker process of this node")
    if not found:
        raise UsageError(
            f"the job {job_id} is not running as your user on this machine. `seatunnel -l` lists running jobs, and "
            "`seatunnel checkpoints list` lists stored jobs"
        )
    answer = _ask(max(found, key=lambda path: stored.number(found[path], "manifest_version")), request, None)
    if answer is None:
        raise UsageError(f"the process of the job {job_id} ended before it responded")
    if "error" in answer:
        raise UsageError(stored.text(answer, "error"))
    return stored.member(answer, "answer")


def _listening(paths: Iterable[Path]) -> dict[Path, Status]:
    asked = {path: _ask(path, {"do": "status"}, _CONNECT_S) for path in paths}
    return {path: stored.below(answer, "answer") for path, answer in asked.items() if answer and "answer" in answer}


def _ask(path: Path, request: Mapping[str, Any], timeout_s: float | None) -> dict[str, Any] | None:
    """Return the complete response, or ``None`` if the process does not listen or does not respond in time."""
    try:
        return _exchange(path, request, timeout_s)
    except ConnectionRefusedError:
        with contextlib.suppress(OSError):
            path.unlink()
    except (OSError, StoredValueError):
        pass
    return None


def _exchange(path: Path, request: Mapping[str, Any], timeout_s: float | None) -> dict[str, Any] | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_S)
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.settimeout(timeout_s)
        with connection.makefile("rb") as lines:
            line = lines.readline()
    answer = stored.parse(line) if line else None
    return answer if isinstance(answer, dict) else None
