"""Scheduling decisions: changes of the state, and orders to the members' worker processes."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.server.state.records import DesiredState, EndedJob, JobRecord


@frozen
class Record:
    """Change that stores a job's record."""

    job: JobRecord


@frozen
class End:
    """Change that moves a job to the history."""

    ended: EndedJob


@frozen
class Open:
    """Order to a member to start the dedicated worker process of a job."""

    member: str
    boot: str
    job: JobRecord


@frozen
class Start:
    """Order to a worker process to start a job. Idempotent."""

    member: str
    host: str
    job: JobRecord


@frozen
class Stop:
    """Order to a worker process to stop a job."""

    member: str
    host: str
    job_id: str
    how: DesiredState


@frozen
class Forget:
    """Order to a worker process to drop an ended job."""

    member: str
    host: str
    job_id: str


@frozen
class Close:
    """Order to a member to end a worker process that is no longer needed."""

    member: str
    host: str
    boot: str


@frozen
class Kill:
    """Order to a member to kill a worker process with a job that does not end. Its other jobs resume elsewhere."""

    member: str
    host: str
    boot: str
    job_id: str


Change = Record | End
Order = Open | Start | Stop | Forget | Close | Kill


@frozen(kw_only=True)
class Decisions:
    """Decisions to execute now; each group is executed in order."""

    changes: tuple[Change, ...] = ()
    orders: tuple[Order, ...] = ()
    reasons: Mapping[str, str] = field(factory=dict)
    """Reasons why jobs without a worker process are waiting, by job."""
