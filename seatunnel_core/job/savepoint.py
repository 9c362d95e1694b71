"""A job's savepoint: one checkpoint of each of its pipelines, which nobody prunes.

It stands in the job's manifest, and is written there last: what the manifest names is complete.
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
    """What was asked for by a user, and is there."""

    name: str
    taken_at: float
    """Seconds since 1970."""

    stopped: bool
    """Whether the job ended with it: nothing was published after it by the process that took it."""

    pipelines: Mapping[int, CheckpointRef]
    """By the pipeline's number: its savepoint, or the final checkpoint of one that had finished."""

    finished: frozenset[int] = frozenset()
    """Those that had. A final checkpoint gives way to that of a later start, which says the same."""

    def record(self) -> dict[str, Any]:
        """JSON values only."""
        refs = {str(number): [ref.epoch, ref.checkpoint_id] for number, ref in self.pipelines.items()}
        finished = {"finished": [str(number) for number in sorted(self.finished)]} if self.finished else {}
        return {"taken_at": self.taken_at, "stopped": self.stopped, "pipelines": refs, **finished}

    @classmethod
    def from_record(cls, name: str, record: Any) -> "JobSavepoint":
        """Read what ``record`` gave.

        Raises:
            StoredValueError: it is not the record of a savepoint.
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
    """Return the name, if it is one.

    Raises:
        UsageError: it is not.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is no name for a savepoint: write up to 64 of a-z, A-Z, 0-9, '.', '_' and '-', as in before-2.0"
        )
    return name


def pipeline_number(written: str) -> int:
    """Return the number of a pipeline, as a key of stored JSON.

    Raises:
        StoredValueError: it is none.
    """
    if re.fullmatch(r"[1-9][0-9]{0,5}", written) is None:
        raise StoredValueError(f"{ascii(written)[:60]} is no number of a pipeline")
    return int(written)


def _ref(refs: Mapping[str, Any], number: str) -> CheckpointRef:
    pair = stored.items(refs, number)
    if len(pair) != 2:
        raise StoredValueError(f"the savepoint of pipeline {number} is not an epoch and an id")
    numbers = {"epoch": pair[0], "id": pair[1]}
    return CheckpointRef(stored.number(numbers, "epoch"), stored.number(numbers, "id"))
