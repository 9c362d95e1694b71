"""What a leader does next with its jobs: a decision from what is recorded and what the host reports. No I/O."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.state.records import EndedJob, JobRecord, JobState, Wanted


@frozen
class Record:
    """Store a job's record."""

    job: JobRecord


@frozen
class Start:
    """Store a job's record, then have the host start it."""

    job: JobRecord


@frozen
class Stop:
    """Have the host stop a job."""

    job_id: str
    how: Wanted


@frozen
class End:
    """Move a job to the history, then have the host forget it."""

    ended: EndedJob


@frozen
class Forget:
    """Have the host forget a job that has ended there and that nobody asks about any more."""

    job_id: str


@frozen
class KillHost:
    """Kill the host: a job does not end in it. Its other jobs go on from their checkpoints in the next one."""

    job_id: str


Decision = Record | Start | Stop | End | Forget | KillHost

_CANCELLED = (Wanted.CANCEL, Wanted.CANCEL_AT_ONCE)

FORCE_AFTER_S = 20.0
"""A job that is cancelled and has not ended for so long is stopped without a last checkpoint."""

KILL_AFTER_S = 40.0
"""One that has not ended then either loses its host."""

QUICK_ATTEMPTS = 2
"""So many attempts of a job start at once; the pause before each further one doubles, up to ``LONGEST_PAUSE_S``."""

LONGEST_PAUSE_S = 60.0


@frozen(kw_only=True)
class View:
    """What is known at one moment."""

    jobs: Mapping[str, JobRecord]
    host: HostStatus | None
    """``None`` while there is no host that answers."""

    address: str
    """Of the member whose host it is."""

    now: float
    """Seconds since 1970; goes into records for display only."""

    stopping_s: Mapping[str, float] = field(factory=dict)
    """By job that is to end: for how long this leader has known that."""

    started_s: Mapping[str, float] = field(factory=dict)
    """By job: how long ago this leader started an attempt of it."""

    envs: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    """By job: the options of its ``env``, for the history."""


def decide(view: View) -> list[Decision]:
    """Return what is to be done now, in order.

    What was carried out already is not returned again, and what was lost is: call it as often as there is news.
    """
    found: list[Decision] = []
    for record in sorted(view.jobs.values(), key=lambda each: (each.submitted_at, each.job_id)):
        decision = _of_job(view, record)
        if decision is not None:
            found.append(decision)
    found += _of_strangers(view)
    return found


def _of_job(view: View, record: JobRecord) -> Decision | None:
    hosted = None if view.host is None else view.host.job(record.job_id)
    if hosted is not None and (hosted.attempt != record.attempt or record.host != view.address):
        return _replace(hosted)
    if hosted is not None:
        return _follow(view, record, hosted)
    if record.wanted in _CANCELLED:
        return End(_ended(view, record, JobState.CANCELED))
    if record.wanted is Wanted.SAVEPOINT and record.attempt == 0:
        return End(_ended(view, record, JobState.CANCELED, error="it was stopped before it had begun"))
    if view.host is None or not view.host.ready or _is_resting(view, record):
        return None
    return Start(
        evolve(record, state=JobState.SCHEDULED, host=view.address, attempt=record.attempt + 1, since=view.now)
    )


def _is_resting(view: View, record: JobRecord) -> bool:
    """Return whether a job waits before its next attempt. One that ends its host again and again leaves others time."""
    further = record.attempt - QUICK_ATTEMPTS
    pause_s = 0.0 if further < 0 else min(2.0**further, LONGEST_PAUSE_S)
    return view.started_s.get(record.job_id, LONGEST_PAUSE_S) < pause_s


def _replace(hosted: HostedJob) -> Decision:
    """Clear away another attempt than the recorded one: a leader before this one has given it to the host."""
    return Forget(hosted.job_id) if hosted.state.is_end else Stop(hosted.job_id, Wanted.CANCEL_AT_ONCE)


def _follow(view: View, record: JobRecord, hosted: HostedJob) -> Decision | None:
    if hosted.state in (JobState.CANCELED, JobState.SAVEPOINT_DONE) and record.wanted is Wanted.RUN:
        return Forget(record.job_id)  # its host was told to leave: it goes on elsewhere
    if hosted.state.is_end:
        return End(_ended(view, record, hosted.state, error=hosted.error, metrics=hosted.metrics))
    late_s = view.stopping_s.get(record.job_id, 0.0) if record.wanted in _CANCELLED else 0.0
    if late_s > KILL_AFTER_S:
        return KillHost(record.job_id)
    if late_s > FORCE_AFTER_S:
        return Stop(record.job_id, Wanted.CANCEL_AT_ONCE)
    if record.wanted is not Wanted.RUN and not _is_stopping(hosted, record.wanted):
        return Stop(record.job_id, record.wanted)
    if hosted.state is not record.state:
        return Record(evolve(record, state=hosted.state, since=view.now))
    return None


def _is_stopping(hosted: HostedJob, wanted: Wanted) -> bool:
    expected = JobState.DOING_SAVEPOINT if wanted is Wanted.SAVEPOINT else JobState.CANCELING
    return hosted.state is expected and wanted is not Wanted.CANCEL_AT_ONCE


def _of_strangers(view: View) -> list[Decision]:
    """Jobs of the host that are not recorded: they ended, and the order to forget them was lost."""
    if view.host is None:
        return []
    return [_replace(hosted) for hosted in view.host.jobs if hosted.job_id not in view.jobs]


def _ended(
    view: View, record: JobRecord, state: JobState, *, error: str = "", metrics: Mapping[str, Any] | None = None
) -> EndedJob:
    return EndedJob(
        job_id=record.job_id,
        name=record.name,
        state=state,
        error=error,
        attempts=record.attempt,
        submitted_at=record.submitted_at,
        ended_at=view.now,
        env=view.envs.get(record.job_id, {}),
        metrics=metrics or {},
    )
