"""Judge whether a base knows all that its targets show as published (R10)."""

from collections.abc import Iterable, Mapping

from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.quantity import pick
from seatunnel_core.work.retraction import Retraction
from seatunnel_storage_api.state import CheckpointRef

_NAMED = 3
"""Maximum number of units that a message names."""


def require_known(
    published: Mapping[str, Iterable[str]],
    known: Mapping[str, Retraction],
    *,
    job_id: str,
    base: CheckpointRef | None,
) -> None:
    """Require that the base knows every published committable.

    One that it does not know was in a newer checkpoint, which is gone: its rows would be published twice.

    Args:
        published: Ids of the committables that each sink's target shows as published, by sink.
        known: What each sink would take back to return to the base, by sink.
        job_id: The job, for the commands in the message.
        base: The checkpoint that is restored; ``None`` if there is none.

    Raises:
        RestoreRefusedError: The base does not; the message names the units and the commands that continue.
    """
    for sink, found in published.items():
        missed = sorted({each for each in found if known[sink].misses(each)})
        if missed:
            raise RestoreRefusedError(_missed(job_id, sink, missed, base))


def _missed(job_id: str, sink: str, committables: list[str], base: CheckpointRef | None) -> str:
    units = ", ".join(committables[:_NAMED]) + (", …" if len(committables) > _NAMED else "")
    found = (
        f"the sink {sink!r} has published {pick(len(committables), 'unit')} ({units}) of which "
        + ("the job has no checkpoint at all" if base is None else f"the latest checkpoint {base} knows nothing")
        + ": newer checkpoints existed, and somebody removed them. Their rows would be published a second time. "
    )
    if base is None:
        return f"{found}Put the checkpoints back from a copy, or empty the target and begin again under a new id"
    again = f"-r {job_id} --restore-with-checkpoint {base}"
    return (
        f"{found}Put them back from a copy; or write `{again} --retract`, which takes those rows back first where the "
        f"sink can do that, or `{again} --accept-duplicates`, which leaves them there"
    )
