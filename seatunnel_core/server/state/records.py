"""Records of active and ended jobs, with their attempts and the cluster resources that they require."""

import enum
import json
from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.stored_fields import Stored, added

JOB_PREFIX = "job/"
HISTORY_PREFIX = "history/"

SHARED = ""
"""Name of a member's shared worker process. The name of a dedicated process is the ID of its job."""


class DesiredState(enum.Enum):
    """Desired state of a job, as requested by the user."""

    RUN = "run"
    CANCEL = "cancel"
    """Stop the job after a final checkpoint."""

    CANCEL_AT_ONCE = "cancel-at-once"
    SAVEPOINT = "savepoint"
    """Stop the job with a savepoint."""


class JobState(enum.Enum):
    """State of a job, with SeaTunnel's names. The states after ``DOING_SAVEPOINT`` are final."""

    PENDING = "PENDING"
    """The job was accepted, but is not assigned to a worker process yet."""

    SCHEDULED = "SCHEDULED"
    """The job is assigned to a worker process, which has not reported it yet."""

    RUNNING = "RUNNING"
    CANCELING = "CANCELING"
    DOING_SAVEPOINT = "DOING_SAVEPOINT"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    SAVEPOINT_DONE = "SAVEPOINT_DONE"

    @property
    def is_end(self) -> bool:
        """True if the state is final."""
        return self in _ENDS


_ENDS = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELED, JobState.SAVEPOINT_DONE})


@frozen(kw_only=True)
class Requirements(Stored):
    """Requirements of a job."""

    slots: int = 2
    """Number of slots, counted as in SeaTunnel: one for planning each source and one for each parallel reader."""

    readers: tuple[int, ...] = ()
    """Numbers of parallel readers in the order of the sources; empty if unknown."""

    tags: Mapping[str, str] = field(factory=dict)
    """Attributes that the member must have."""

    own_host: bool = False
    """True if the job needs a dedicated worker process: on request, or because of options for Spark, Java or Python."""


KEPT_ATTEMPTS = 20
"""Maximum number of past attempts in a record. The record is rewritten at each change of the job."""


@frozen(kw_only=True)
class PastAttempt(Stored):
    """An attempt that has ended."""

    attempt: int
    host: str
    """Member that ran the attempt, as ``host:port``."""

    started_at: float
    """Time of the start, in seconds since 1970, for display only; 0 in records of earlier versions."""

    ended_at: float
    """Time of the end, in seconds since 1970, for display only."""

    cause: str
    """Reason for the end; empty if the job ended normally."""


def with_attempt(past: tuple[PastAttempt, ...], ended: PastAttempt) -> tuple[PastAttempt, ...]:
    """Return the past attempts with ``ended`` added, at most the latest ``KEPT_ATTEMPTS``."""
    return (*past, ended)[-KEPT_ATTEMPTS:]


class _Entry(Stored):
    """Entry of the state that is stored as JSON."""

    __slots__ = ()

    def to_bytes(self) -> bytes:
        """Return the record as JSON."""
        return json.dumps(self.record(), ensure_ascii=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """Return the record encoded by ``to_bytes``."""
        return cls.from_record(stored.parse(body))


@frozen(kw_only=True)
class JobRecord(_Entry):
    """A job that was accepted and has not ended. Stored only at transitions; about 1 to 50 KB."""

    job_id: str
    name: str
    text: str = field(repr=False)
    """Job text as submitted; may contain secrets."""

    format: str
    """Format of the text: ``json``, ``hocon``, ``yaml`` or ``sql``."""

    origin: str = added("")
    """Name of the job file, for messages; empty if unknown."""

    variables: Mapping[str, str] = field(factory=dict, repr=False)
    """Values for ``${…}`` in the text; may contain secrets."""

    restore: bool = False
    """True if the first attempt resumes from the latest checkpoint of a job that already existed."""

    fresh: bool = added(False)
    """True if no attempt has ever claimed a job with this ID, so that there is no checkpoint to resume from."""

    submission: str = added("", omitted=True)
    """Unique ID of this submission, which is stored in the manifest; empty in records of earlier versions."""

    wanted: DesiredState = DesiredState.RUN
    state: JobState = JobState.PENDING
    host: str = ""
    """Member that runs the job, as ``host:port``; empty while the job waits."""

    process: str = added("")
    """Boot ID of the worker process; empty if there is none, or while a dedicated one is starting."""

    dedicated: bool = added(False)
    """True for a dedicated worker process, which ends with the job."""

    attempt: int = 0
    """Number of assignments to worker processes."""

    unfenced: bool = added(False)
    """True if an unreachable process may still run an earlier attempt, because no later attempt has claimed the job."""

    deaths: int = added(0)
    """Number of consecutive worker processes that ended while running the job, except those lost with their nodes."""

    submitted_at: float
    """Time of submission, in seconds since 1970; for display only."""

    since: float
    """Start of ``state``, in seconds since 1970; for display only."""

    placed_at: float = added(0.0, eq=False)
    """Time of this attempt's assignment, in seconds since 1970, or 0 if there is none; for display only."""

    requirements: Requirements | None = added(None, omitted=True, eq=False)
    """Requirements, as parsed when the job was accepted; ``None`` in records of earlier versions."""

    past: tuple[PastAttempt, ...] = added((), eq=False)
    """Past attempts, oldest first; for display only."""

    @property
    def key(self) -> str:
        """Key of the record in the state."""
        return JOB_PREFIX + self.job_id

    @property
    def host_name(self) -> str:
        """Name of the worker process that runs the job."""
        return self.job_id if self.dedicated else SHARED


@frozen(kw_only=True)
class EndedJob(_Entry):
    """A job that has ended, as stored in the history."""

    job_id: str
    name: str
    state: JobState
    error: str = ""
    """Error of a failed job; otherwise empty."""

    attempts: int
    submitted_at: float
    """Time of submission, in seconds since 1970; for display only."""

    ended_at: float
    """Time of the end, in seconds since 1970; used only for expiry."""

    env: Mapping[str, Any] = field(factory=dict)
    """Options of the job's ``env``, without secrets."""

    metrics: Mapping[str, Any] = field(factory=dict)
    """Final metrics, keyed by SeaTunnel's names."""

    restored: bool = added(False)
    """True if the job was submitted to resume from its latest checkpoint."""

    host: str = added("")
    """Member that ran the job last, as ``host:port``; empty if none did."""

    begun: bool = added(True)
    """True if an attempt may have claimed the job. Otherwise it can be started from the beginning."""

    shown: str = added("", repr=False)
    """Graph and final status of the pipelines as JSON; empty if unknown. Parsed only when requested."""

    past: tuple[PastAttempt, ...] = added(())
    """Attempts, the oldest first. The last one ended with the job."""

    @property
    def key(self) -> str:
        """Key of the record in the state."""
        return HISTORY_PREFIX + self.job_id
