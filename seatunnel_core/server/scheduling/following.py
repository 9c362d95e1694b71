"""Decisions on jobs that have a worker process, based on the reports of its member."""

from attrs import evolve

from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.member_report import HostReport
from seatunnel_core.server.scheduling.decisions import (
    Change,
    Close,
    End,
    Forget,
    Kill,
    Open,
    Order,
    Record,
    Start,
    Stop,
)
from seatunnel_core.server.scheduling.view import CANCELLED, GIVE_UP_AFTER_S, View
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState

FORCE_AFTER_S = 20.0
"""Time from the cancellation of a job until it is stopped without a final checkpoint, in seconds."""

KILL_AFTER_S = 35.0
"""Time from the cancellation of a job until its worker process is killed, in seconds."""

TAKE_OVER_S = 10.0
"""Time for a new worker process to take over a cancelled job from an unreachable one, in seconds."""

PLAN_LIMIT_S = 600.0
"""Time limit for claiming and planning a job, in seconds, after which the job fails."""

LONG_LIFE_S = 600.0
"""Run time after which the end of a worker process is no longer attributed to the job, in seconds."""

MOST_DEATHS = 6
"""Maximum number of worker processes that a job may lose in a row while their agents keep running."""

ALONE_S = 60.0
"""Run time in a dedicated process after which a suspect job returns to the shared process, in seconds."""


def own_boot(record: JobRecord) -> str:
    """Return the boot ID of a job's dedicated worker process. It is unique for each attempt."""
    return f"{record.job_id}-{record.attempt}"


def follow(view: View, record: JobRecord) -> Change | Order | None:
    """Return the decision on a job that has a worker process."""
    member = view.members.get(record.host)
    if member is not None and member.lost:
        return _of_lost_member(view, record)
    report = None if member is None else member.known
    if report is None:
        return _give_up(view, record)
    host = report.host(record.host_name)
    if record.dedicated and not record.process:
        return _opened(view, record, host)
    if host is None or host.boot != record.process:
        return _of_dead_host(view, record, seen=record.process in report.ended)
    hosted = None if host.status is None else host.status.job(record.job_id)
    if hosted is None and (host.status is None or not host.status.ready):
        return _late(view, record, host)
    if hosted is None:
        return Start(record.host, host.name, record)
    if hosted.attempt != record.attempt:
        return replaced(record.host, host.name, hosted)
    return _of_hosted(view, record, host, hosted)


def replaced(member: str, host: str, hosted: HostedJob) -> Order:
    """Return the order that removes an outdated attempt of a job from a worker process."""
    if hosted.state.is_end:
        return Forget(member, host, hosted.job_id)
    return Stop(member, host, hosted.job_id, DesiredState.CANCEL_AT_ONCE)


def orders_to_orphans(view: View) -> list[Order]:
    """Return the orders that remove orphaned jobs and processes. Worker processes with hanging orphans are killed."""
    found: list[Order] = []
    for address, member in view.members.items():
        for host in () if member.known is None else member.known.hosts:
            if host.name != SHARED and not _is_own(view, address, host):
                found.append(Close(address, host.name, host.boot))
    for key, (address, host, job) in orphaned_jobs(view).items():
        if view.members[address].known is None:
            continue
        late = not job.state.is_end and view.orphaned_s.get(key, 0.0) > KILL_AFTER_S
        kill = Kill(address, host.name, host.boot, job.job_id)
        found.append(kill if late else replaced(address, host.name, job))
    return found


def orphaned_jobs(view: View) -> dict[str, tuple[str, HostReport, HostedJob]]:
    """Return the orphaned jobs in worker processes, by stable key. Outdated reports are included."""
    found = {}
    for address, member in view.members.items():
        for host in () if member.lost or member.report is None else member.report.hosts:
            if host.status is None or (host.name != SHARED and not _is_own(view, address, host)):
                continue
            for job in host.status.jobs:
                if not _is_placed(view.jobs.get(job.job_id), address, host):
                    found[f"{address} {host.boot} {job.job_id} {job.attempt}"] = address, host, job
    return found


def _is_own(view: View, address: str, host: HostReport) -> bool:
    record = view.jobs.get(host.name)
    return record is not None and record.dedicated and record.host == address and host.boot == own_boot(record)


def _is_placed(record: JobRecord | None, address: str, host: HostReport) -> bool:
    return record is not None and (record.host, record.host_name, record.process) == (address, host.name, host.boot)


def _of_lost_member(view: View, record: JobRecord) -> Change | None:
    """Release the job for another worker process, even if the job is cancelled: the lost process may still run it."""
    cause = f"node {record.host} was lost: it did not respond to the leader in time"
    released = view.released(record, deaths=record.deaths, cause=cause)
    return _give_up(view, record) or Record(evolve(released, unfenced=True))


def _give_up(view: View, record: JobRecord) -> Change | None:
    """End a cancelled job with an unreachable worker process."""
    if record.wanted not in CANCELLED or view.stopping_s.get(record.job_id, 0.0) <= GIVE_UP_AFTER_S:
        return None
    error = (
        f"member {record.host} is unreachable: if the job still runs there, it will be stopped when the member is "
        "reachable again"
    )
    return End(view.ended(record, JobState.CANCELED, error=error))


def _opened(view: View, record: JobRecord, host: HostReport | None) -> Change | Order:
    """Return the order to start a job's dedicated process or, if that exists, the change that records it."""
    boot = own_boot(record)
    if record.wanted in CANCELLED and view.may_end(record):
        return End(view.ended(record, JobState.CANCELED))  # it never got the order to start the job
    if host is None or host.boot != boot:
        return Open(record.host, boot, record)
    return Record(evolve(record, process=boot))


def _of_dead_host(view: View, record: JobRecord, *, seen: bool) -> Change:
    """Release a job after its worker process ended. End the job if it is cancelled or has lost too many processes.

    If the agent of the process did not see its end (``seen`` is False), the process was lost with its node. This is not
    attributed to the job.
    """
    if record.wanted in CANCELLED:  # not attributed to the job: it may have been killed because the job did not end
        if view.may_end(record):
            return End(view.ended(record, JobState.CANCELED))
        return Record(view.released(record, deaths=record.deaths, cause=_gone(record, seen=seen)))
    lived_s = view.placed_s.get(record.job_id, 0.0)
    deaths = 0 if lived_s > LONG_LIFE_S else record.deaths + seen
    if deaths >= MOST_DEATHS:
        error = (
            f"{deaths} consecutive worker processes ended while running this job, the last of them dedicated to it: "
            f"the job crashes its process, or needs more memory than is available. See job-{record.job_id}.log and "
            f"seatunnel-engine-host.log in the logs of {record.host}"
        )
        return End(view.ended(record, JobState.FAILED, error=error))
    return Record(view.released(record, deaths=deaths, cause=_gone(record, seen=seen)))


def _gone(record: JobRecord, *, seen: bool) -> str:
    """Return the reason why a job lost its worker process, for the user."""
    if seen:
        return f"the job's worker process on {record.host} ended; see seatunnel-engine-host.log there"
    return f"the job's worker process on {record.host} was lost together with the node"


def _late(view: View, record: JobRecord, host: HostReport) -> Order | None:
    """Return the order to kill the worker process of a cancelled job if the job has not ended in time."""
    stopping_s = view.stopping_s.get(record.job_id, 0.0)
    placed_s = view.placed_s.get(record.job_id, stopping_s)
    if record.wanted in CANCELLED and stopping_s > KILL_AFTER_S and placed_s > TAKE_OVER_S:
        return Kill(record.host, host.name, host.boot, record.job_id)
    return None


def _of_hosted(view: View, record: JobRecord, host: HostReport, hosted: HostedJob) -> Change | Order | None:
    if hosted.state.is_end:
        return _of_end(view, record, hosted)
    killed = _late(view, record, host)
    if killed is not None:
        return killed
    late_s = view.stopping_s.get(record.job_id, 0.0) if record.wanted in CANCELLED else 0.0
    if late_s > FORCE_AFTER_S:
        return Stop(record.host, host.name, record.job_id, DesiredState.CANCEL_AT_ONCE)
    if record.wanted is not DesiredState.RUN and not _is_stopping(hosted, record.wanted):
        return Stop(record.host, host.name, record.job_id, record.wanted)
    lived_s = view.placed_s.get(record.job_id, 0.0)
    if hosted.state is JobState.SCHEDULED and lived_s > PLAN_LIMIT_S:
        error = (
            f"the job was not planned within {PLAN_LIMIT_S:.0f} s: its checkpoint storage, a source or a sink does not "
            f"respond; see job-{record.job_id}.log in the logs of {record.host}"
        )
        return End(view.ended(record, JobState.FAILED, error=error, hosted=hosted))
    if record.dedicated and not view.requirements_of(record.job_id).own_host and lived_s > ALONE_S:
        if record.deaths:
            return Record(evolve(record, deaths=0))
        if hosted.state is JobState.RUNNING:
            return Stop(record.host, host.name, record.job_id, DesiredState.CANCEL)  # resumes in the shared process
    if hosted.state is not record.state:
        unfenced = record.unfenced and hosted.state is not JobState.RUNNING
        return Record(evolve(record, state=hosted.state, unfenced=unfenced, since=view.now))
    return None


def _of_end(view: View, record: JobRecord, hosted: HostedJob) -> Change:
    left = record.wanted is DesiredState.RUN and hosted.state in (JobState.CANCELED, JobState.SAVEPOINT_DONE)
    unsaved = record.wanted is DesiredState.SAVEPOINT and hosted.state is JobState.CANCELED
    if left or unsaved or hosted.fenced:  # its process had to end, or an earlier attempt took the job over
        cause = hosted.error or f"the job stopped together with its worker process on {record.host}"
        return Record(view.released(record, deaths=record.deaths, cause=cause))
    return End(view.ended(record, hosted.state, error=hosted.error, hosted=hosted))


def _is_stopping(hosted: HostedJob, wanted: DesiredState) -> bool:
    expected = JobState.DOING_SAVEPOINT if wanted is DesiredState.SAVEPOINT else JobState.CANCELING
    return hosted.state is expected and wanted is not DesiredState.CANCEL_AT_ONCE
