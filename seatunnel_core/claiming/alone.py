"""Check that no other process of this user on this machine runs a job to be restored."""

from contextlib import suppress
from os import getpid

from seatunnel_core import stored
from seatunnel_core.control import client
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.inspector.reference import title
from seatunnel_storage_api.storage import CheckpointStorage


def require_alone(storage: CheckpointStorage, job_id: str) -> None:
    """Raise an error if another process of this user on this machine runs the job and responds.

    Call this before claiming the job, because the claim stops that process.
    """
    pid = working_process(storage, job_id)
    if pid is None:
        return
    where = "this process" if pid == getpid() else f"process {pid}"
    raise UsageError(
        f"the job {job_id} runs in {where}. Stop it first, with seatunnel -can {job_id}, or restore it with "
        "take_over=True: this process then continues the job, and the other process ends with an error"
    )


def working_process(storage: CheckpointStorage, job_id: str) -> int | None:
    """Return the ID of the process of this user on this machine that runs the job; ``None`` if none is known."""
    found: tuple[client.Status, ...] = ()
    with suppress(OSError, SeaTunnelError):  # without job control no process can be found
        found = client.running(job_id=job_id)
    working = [each for each in found if not each.get("ended") and each.get("storage") in (None, title(storage))]
    return stored.number(working[-1], "pid") if working else None
