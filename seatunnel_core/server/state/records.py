"""What a cluster records of a job: while it is to run, and after its end."""

import enum
import json
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.server.state.attempts import PastAttempt
from seatunnel_core.stored_fields import Stored, added

JOB_PREFIX = "job/"
HISTORY_PREFIX = "history/"

SHARED = ""
"""The name of the host of a member that jobs share. One that a job has for itself has the job's id."""


class DesiredState(enum.Enum):
    """What the users want of a job."""

    RUN = "run"
    CANCEL = "cancel"
    """Stop it after a last checkpoint."""

    CANCEL_AT_ONCE = "cancel-at-once"
    SAVEPOINT = "savepoint"
    """Stop it with a savepoint."""


class JobState(enum.Enum):
    """A job's state, by SeaTunnel's names. Those behind ``DOING_SAVEPOINT`` are ends."""

    PENDING = "PENDING"
    """Accepted and not yet given to a host."""

    SCHEDULED = "SCHEDULED"
    """Given to a host, which has not reported it yet."""

    RUNNING = "RUNNING"
    CANCELING = "CANCELING"
    DOING_SAVEPOINT = "DOING_SAVEPOINT"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    SAVEPOINT_DONE = "SAVEPOINT_DONE"

    @property
    def is_end(self) -> bool:
        """Whether a job in this state never runs again by itself."""
        return self in _ENDS


_ENDS = frozenset({JobState.FINISHED, JobState.FAILED, JobState.CANCELED, JobState.SAVEPOINT_DONE})


@frozen(kw_only=True)
class JobRecord(Stored):
    """A job that was accepted and has not ended. Stored at its transitions only, about 1 to 50 KB."""

    job_id: str
    name: str
    text: str = field(repr=False)
    """The job as it was submitted; may hold secrets."""

    format: str
    """``json``, ``hocon``, ``yaml`` or ``sql``."""

    origin: str = added("")
    """The user's name of the job's file, for messages; empty when it is not known."""

    variables: Mapping[str, str] = field(factory=dict, repr=False)
    """Values for ``${…}`` in the text; may hold secrets."""

    restore: bool = False
    """Whether the job existed before it was submitted, so that its first attempt goes on from its latest checkpoint."""

    fresh: bool = added(False)
    """Whether no attempt under this id has ever claimed the job, so that there may be nothing to go on with."""

    wanted: DesiredState = DesiredState.RUN
    state: JobState = JobState.PENDING
    host: str = ""
    """The member whose host has it, as ``host:port``; empty while it waits for one."""

    process: str = added("")
    """The boot of that host; empty while no host has the job, or its own one has not begun."""

    dedicated: bool = added(False)
    """Whether that host is one of its own, which ends with the job."""

    attempt: int = 0
    """How often it was given to a host."""

    unfenced: bool = added(False)
    """Whether a host that could not be reached may still run an earlier attempt: none has claimed the job since."""

    deaths: int = added(0)
    """How many hosts in a row have ended while they had it, those that were lost with their nodes left out."""

    submitted_at: float
    """Seconds since 1970; for display only."""

    since: float
    """When ``state`` began, in seconds since 1970; for display only."""

    placed_at: float = added(0.0, eq=False)
    """When this attempt was given to its host, in seconds since 1970; for display only, 0 while it has none."""

    past: tuple[PastAttempt, ...] = added((), eq=False)
    """The attempts before this one, the oldest first; for display only."""

    @property
    def key(self) -> str:
        """The key of the record in the state."""
        return JOB_PREFIX + self.job_id

    @property
    def host_name(self) -> str:
        """The name of the host that has it, among those of its member."""
        return self.job_id if self.dedicated else SHARED

    def to_bytes(self) -> bytes:
        """Return the record as JSON."""
        return _encoded(self.record())

    @classmethod
    def from_bytes(cls, body: bytes) -> "JobRecord":
        """Return the record that ``to_bytes`` wrote.

        Raises:
            StoredValueError: it is not one.
        """
        return cls.from_record(stored.parse(body))


@frozen(kw_only=True)
class EndedJob(Stored):
    """A job that has ended, as the history keeps it."""

    job_id: str
    name: str
    state: JobState
    error: str = ""
    """Why it failed; empty when it did not."""

    attempts: int
    submitted_at: float
    """Seconds since 1970; for display only."""

    ended_at: float
    """Seconds since 1970; decides about expiry only."""

    env: Mapping[str, Any] = field(factory=dict)
    """The options of the job's ``env`` that are no secrets."""

    metrics: Mapping[str, Any] = field(factory=dict)
    """The last figures, by SeaTunnel's names."""

    restored: bool = added(False)
    """Whether it was submitted to go on from its latest checkpoint."""

    host: str = added("")
    """The member whose host had it last, as ``host:port``; empty when none had it."""

    begun: bool = added(True)
    """Whether an attempt of it may have claimed the job; where none has, it may be started from nothing."""

    shown: str = added("", repr=False)
    """Its graph, and its pipelines as they stood at the end, as JSON; empty when that is not known. It is a text,
    because thousands are kept and few are looked at."""

    past: tuple[PastAttempt, ...] = added(())
    """Its attempts, the oldest first; the last one ended with the job."""

    @property
    def key(self) -> str:
        """The key of the record in the state."""
        return HISTORY_PREFIX + self.job_id

    def to_bytes(self) -> bytes:
        """Return the record as JSON."""
        return _encoded(self.record())

    @classmethod
    def from_bytes(cls, body: bytes) -> "EndedJob":
        """Return the record that ``to_bytes`` wrote.

        Raises:
            StoredValueError: it is not one.
        """
        return cls.from_record(stored.parse(body))


def _encoded(block: Mapping[str, Any]) -> bytes:
    return json.dumps(block, ensure_ascii=True, separators=(",", ":")).encode()
