"""Savepoint of a job: one checkpoint of each pipeline, which never expires.

The manifest that refers to the savepoint is written last, so every savepoint in a manifest is complete.
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
    """Complete savepoint requested by a user."""

    name: str
    taken_at: float
    """Time in seconds since 1970."""

    stopped: bool
    """True if the job stopped with the savepoint, so that no later rows were published."""

    pipelines: Mapping[int, CheckpointRef]
    """Checkpoints by pipeline number. A finished pipeline has its final checkpoint."""

    finished: frozenset[int] = frozenset()
    """Numbers of finished pipelines. A later start may replace their final checkpoints with equivalent ones."""

    def record(self) -> dict[str, Any]:
        """Return the savepoint as JSON values."""
        refs = {str(number): [ref.epoch, ref.checkpoint_id] for number, ref in self.pipelines.items()}
        finished = {"finished": [str(number) for number in sorted(self.finished)]} if self.finished else {}
        return {"taken_at": self.taken_at, "stopped": self.stopped, "pipelines": refs, **finished}

    @classmethod
    def from_record(cls, name: str, record: Any) -> "JobSavepoint":
        """Decode a savepoint; raise ``StoredValueError`` if it is invalid."""
        refs = stored.below(record, "pipelines")
        return cls(
            name=name,
            taken_at=stored.seconds(record, "taken_at"),
            stopped=stored.flag(record, "stopped"),
            pipelines={pipeline_number(number): _ref(refs, number) for number in refs},
            finished=frozenset(map(pipeline_number, stored.texts(record, "finished") if "finished" in record else [])),
        )


def require_savepoint_name(name: str) -> str:
    """Return the name if it is valid, otherwise raise ``UsageError``."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a savepoint name: use up to 64 of a-z, A-Z, 0-9, '.', '_' and '-', for example before-2.0"
        )
    return name


def pipeline_number(written: str) -> int:
    """Parse the pipeline number in a key of stored JSON; raise ``StoredValueError`` if it is not a number."""
    if re.fullmatch(r"[1-9][0-9]{0,5}", written) is None:
        raise StoredValueError(f"{ascii(written)[:60]} is not a pipeline number")
    return int(written)


def _ref(refs: Mapping[str, Any], number: str) -> CheckpointRef:
    pair = stored.items(refs, number)
    if len(pair) != 2:
        raise StoredValueError(f"the savepoint of pipeline {number} is not an epoch and an ID")
    numbers = {"epoch": pair[0], "id": pair[1]}
    return CheckpointRef(stored.number(numbers, "epoch"), stored.number(numbers, "id"))
