"""Savepoint of a job: one checkpoint of each of its pipelines that never expires.

The job's manifest refers to it and is written last, so a savepoint in the manifest is complete.
"""

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError, UsageError
from seatunnel_storage_api.state import CheckpointRef

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@frozen(kw_only=True)
class JobSavepoint:
    """A complete savepoint requested by a user."""

    name: str
    taken_at: float
    """Time in seconds since 1970."""

    stopped: bool
    """True if the job ended with the savepoint: nothing was published after it."""

    pipelines: Mapping[int, CheckpointRef]
    """Checkpoint by pipeline number: the savepoint, or the final checkpoint of a finished pipeline."""

    finished: frozenset[int] = frozenset()
    """Finished pipelines. A later start replaces the final checkpoint of such a pipeline with an equivalent one."""

    def record(self) -> dict[str, Any]:
        """Return the savepoint as JSON values."""
        refs = {str(number): [ref.epoch, ref.checkpoint_id] for number, ref in self.pipelines.items()}
        finished = {"finished": [str(number) for number in sorted(self.finished)]} if self.finished else {}
        return {"taken_at": self.taken_at, "stopped": self.stopped, "pipelines": refs, **finished}

    @classmethod
    def from_record(cls, name: str, record: Any) -> "JobSavepoint":
        """Return the savepoint in a ``record``.

        Raises:
            StoredValueError: The value is not such a record.
        """
        refs = stored.below(record, "pipelines")
        return cls(
            name=name,
            taken_at=stored.seconds(record, "taken_at"),
            stopped=stored.flag(record, "stopped"),
            pipelines={pipeline_number(number): _ref(refs, number) for number in refs},
            finished=frozenset(map(pipeline_number, stored.texts(record, "finished") if "finished" in record else [])),
        )


def require_savepoint_name(name: str) -> str:
    """Return the name if it is valid.

    Raises:
        UsageError: The name is invalid.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a savepoint name: use up to 64 of a-z, A-Z, 0-9, '.', '_' and '-', as in before-2.0"
        )
    return name


def pipeline_number(written: str) -> int:
    """Return the pipeline number in a key of stored JSON.

    Raises:
        StoredValueError: The key is not a number.
    """
    if re.fullmatch(r"[1-9][0-9]{0,5}", written) is None:
        raise StoredValueError(f"{ascii(written)[:60]} is not a pipeline number")
    return int(written)


def _ref(refs: Mapping[str, Any], number: str) -> CheckpointRef:
    pair = stored.items(refs, number)
    if len(pair) != 2:
        raise StoredValueError(f"the savepoint of pipeline {number} is not an epoch and an ID")
    numbers = {"epoch": pair[0], "id": pair[1]}
    return CheckpointRef(stored.number(numbers, "epoch"), stored.number(numbers, "id"))
