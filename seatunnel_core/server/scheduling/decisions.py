"""What can be decided: changes of the state, and orders to the members' hosts."""

from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_core.server.state.records import DesiredState, EndedJob, JobRecord


@frozen
class Record:
    """Store a job's record."""

    job: JobRecord


@frozen
class End:
    """Move a job to the history."""

    ended: EndedJob


@frozen
class Open:
    """Have a member start the host that a job has for itself."""

    member: str
    boot: str
    job: JobRecord


@frozen
class Start:
    """Have a host start a job. The same order again starts nothing."""

    member: str
    host: str
    job: JobRecord


@frozen
class Stop:
    """Have a host stop a job."""

    member: str
    host: str
    job_id: str
    how: DesiredState


@frozen
class Forget:
    """Have a host forget a job that has ended there and that nobody asks about any more."""

    member: str
    host: str
    job_id: str


@frozen
class Close:
    """Have a member end a host that nobody needs any more."""

    member: str
    host: str
    boot: str


@frozen
class Kill:
    """Have a member kill a host in which a job does not end. Its other jobs go on from their checkpoints."""

    member: str
    host: str
    boot: str
    job_id: str


Change = Record | End
Order = Open | Start | Stop | Forget | Close | Kill


@frozen(kw_only=True)
class Decisions:
    """What is to be done now. Each part is in order."""

    changes: tuple[Change, ...] = ()
    orders: tuple[Order, ...] = ()
    reasons: Mapping[str, str] = field(factory=dict)
    """By job without a host: what it waits for."""
