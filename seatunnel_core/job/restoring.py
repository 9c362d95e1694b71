"""Request to restore a job, and the part that the manifest keeps until a process has executed it."""

import re
from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError, UsageError
from seatunnel_core.job.savepoint import require_savepoint_name
from seatunnel_storage_api.errors import InvalidIdError
from seatunnel_storage_api.layout import require_job_id
from seatunnel_storage_api.state import CheckpointRef

REWINDS = ("refused", "retracted", "accepted")
"""Treatment of rows that were published after the restored checkpoint."""

_CHECKPOINT = re.compile(r"(?:(?P<pipeline>[0-9]{1,6}):)?(?:(?P<epoch>[0-9]{1,10})[-/])?(?P<id>[0-9]{1,18})", re.ASCII)


@frozen(kw_only=True)
class ChosenCheckpoint:
    """Checkpoint requested by the user as ``[PIPELINE:][EPOCH-]ID``."""

    written: str
    pipeline: int | None
    """Pipeline number; ``None`` if the job has only one pipeline."""

    epoch: int | None
    """Epoch; ``None`` for the newest checkpoint with this ID."""

    checkpoint_id: int

    @classmethod
    def parse(cls, text: str) -> "ChosenCheckpoint":
        """Parse the string; raise ``UsageError`` if it is invalid."""
        found = _CHECKPOINT.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text!r} is not a checkpoint: use an ID as shown by `seatunnel checkpoints list -j JOB_ID`, such "
                "as 100000-7; if the job has several pipelines, put the pipeline number before it: 2:100000-7"
            )
        pipeline, epoch = found["pipeline"], found["epoch"]
        return cls(
            written=text,
            pipeline=None if pipeline is None else int(pipeline),
            epoch=None if epoch is None else int(epoch),
            checkpoint_id=int(found["id"]),
        )


@frozen(kw_only=True)
class SavepointName:
    """Savepoint of another job, written as ``JOB_ID/NAME``."""

    job_id: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "SavepointName":
        """Parse the string; raise ``UsageError`` if it is invalid."""
        job_id, slash, name = text.rpartition("/")
        try:
            if not slash:
                raise UsageError("it contains no '/'")
            return cls(job_id=require_job_id(job_id), name=require_savepoint_name(name))
        except (UsageError, InvalidIdError) as error:
            raise UsageError(
                f"{text!r} is not a savepoint of a job ({error}): use JOB_ID/NAME, for example 9148730/before-2.0"
            ) from error

    def __str__(self) -> str:
        return f"{self.job_id}/{self.name}"


def _chosen(checkpoints: "str | Sequence[str | ChosenCheckpoint]") -> tuple[ChosenCheckpoint, ...]:
    given = (checkpoints,) if isinstance(checkpoints, str) else checkpoints
    return tuple(each if isinstance(each, ChosenCheckpoint) else ChosenCheckpoint.parse(each) for each in given)


def _named(savepoint: str | SavepointName | None) -> SavepointName | None:
    return SavepointName.parse(savepoint) if isinstance(savepoint, str) else savepoint


@frozen
class Restore:
    """State from which a job is restored. By default, each pipeline resumes from its latest checkpoint."""

    job_id: str | None = None
    """ID of a stopped or killed job to resume; ``None`` with ``from_savepoint``, which starts a new job."""

    checkpoints: tuple[ChosenCheckpoint, ...] = field(default=(), kw_only=True, converter=_chosen)
    """Checkpoints of the job to restore: ``"100000-7"``, or for several pipelines ``["1:100000-7", "2:100000-9"]``.
    Other pipelines resume from their latest checkpoint."""

    savepoint: str | None = field(default=None, kw_only=True)
    """Name of a savepoint of the job."""

    from_savepoint: SavepointName | None = field(default=None, kw_only=True, converter=_named)
    """Savepoint of another job from which a new job starts: ``"JOB_ID/NAME"``."""

    from_storage: str | None = field(default=None, kw_only=True)
    """Storage of ``from_savepoint``: an engine file, folder or exported archive; ``None`` for the job's own storage."""

    retract: bool = field(default=False, kw_only=True)
    """True to roll back the output that was published after the checkpoint or savepoint."""

    accept_duplicates: bool = field(default=False, kw_only=True)
    """True to keep the output published after the checkpoint or savepoint, and publish its rows a second time."""

    allow_non_restored_state: bool = field(default=False, kw_only=True)
    """True to discard the state of sources and sinks that were removed from the job."""

    take_over: bool = field(default=False, kw_only=True)
    """True to resume the job even if another process on this machine runs it. That process ends with an error."""

    def __attrs_post_init__(self) -> None:
        if self.checkpoints and self.savepoint is not None:
            raise UsageError("checkpoints and a savepoint cannot be restored together: specify only one of them")
        if self.retract and self.accept_duplicates:
            raise UsageError(
                "retract and accept_duplicates cannot be combined: published rows are either rolled back or "
                "duplicated. Set only one"
            )
        if self.from_savepoint is None:
            if self.from_storage is not None:
                raise UsageError('from_storage is the storage of a savepoint: also pass from_savepoint="JOB_ID/NAME"')
        elif self.job_id is not None or self.goes_back or self.take_over:
            raise UsageError(
                "from_savepoint starts a new job: it cannot be combined with job_id, checkpoints, savepoint or "
                "take_over"
            )
        elif self.retract:
            raise UsageError(
                "a new job cannot roll back output that another job published; restore the other job instead: "
                "submit(restore=st.Restore(JOB_ID, savepoint=NAME, retract=True))"
            )

    @property
    def goes_back(self) -> bool:
        """True if a checkpoint or savepoint of the job is specified."""
        return bool(self.checkpoints) or self.savepoint is not None

    @property
    def rewind(self) -> str:
        """Treatment of rows published after the restored checkpoint: one of ``REWINDS``."""
        return "retracted" if self.retract else "accepted" if self.accept_duplicates else "refused"


@frozen(kw_only=True)
class Asked:
    """Request to restore a pipeline from a checkpoint.

    It is stored in the manifest, so that the next process executes it if this one is killed.
    """

    ref: CheckpointRef
    rewind: str
    since: int
    """First epoch that may execute the request. It was executed if this epoch or a later one has a checkpoint."""

    def record(self) -> dict[str, Any]:
        """Return the request as JSON values."""
        return {"ref": [self.ref.epoch, self.ref.checkpoint_id], "rewind": self.rewind, "since": self.since}

    @classmethod
    def from_record(cls, record: Any) -> "Asked":
        """Decode a request; raise ``StoredValueError`` if it is invalid."""
        pair = stored.items(record, "ref")
        rewind = stored.text(record, "rewind")
        if len(pair) != 2 or rewind not in REWINDS:
            raise StoredValueError("a stored rewind request is invalid: expected an epoch, an ID and a mode")
        ref = {"epoch": pair[0], "id": pair[1]}
        return cls(
            ref=CheckpointRef(stored.number(ref, "epoch"), stored.number(ref, "id")),
            rewind=rewind,
            since=stored.number(record, "since"),
        )
