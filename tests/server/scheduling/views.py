"""Views of a cluster for tests of the scheduling."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.scheduling.view import Member, View
from seatunnel_core.server.state.records import SHARED, JobRecord, JobState, Requirements

HERE, THERE = "here:1", "there:2"
BOOT = "boot"
JOB = JobRecord(job_id="1", name="copy", text="", format="hocon", submitted_at=1.0, since=1.0)
GIVEN = evolve(JOB, state=JobState.SCHEDULED, host=HERE, process=BOOT, attempt=1)
RUNNING = evolve(GIVEN, state=JobState.RUNNING)


def hosted(state: JobState, *, attempt: int = 1, job_id: str = "1", error: str = "", fenced: bool = False) -> HostedJob:
    """Return a job in a host."""
    return HostedJob(
        job_id=job_id, attempt=attempt, state=state, error=error, fenced=fenced, metrics={"SinkWriteCount": 3}
    )


def host(
    *jobs: HostedJob,
    name: str = SHARED,
    boot: str = BOOT,
    ready: bool = True,
    offered: int = 0,
    application: str = "",
    executors: int = 0,
) -> HostReport:
    """Return a host that answers."""
    status = HostStatus(
        pid=1,
        term=1,
        ready=ready,
        slots=2,
        offered=offered,
        jobs=jobs,
        application=application,
        executors=executors,
    )
    return HostReport(name=name, boot=boot, status=status)


def member(
    *hosts: HostReport, ended: tuple[str, ...] = (), lost: bool = False, busy: bool = False, **tags: str
) -> Member:
    """Return a member that has answered."""
    return Member(report=MemberReport(hosts=hosts, ended=ended, tags=tags), lost=lost, busy=busy)


def view(*records: JobRecord, members: Mapping[str, Member] | None = None, **more: Any) -> View:
    """Return a view with the leader ``HERE``, which has a ready host unless ``members`` says otherwise."""
    requirements: Mapping[str, Requirements] = more.pop("requirements", {})
    return View(
        jobs={record.job_id: record for record in records},
        members={HERE: member(host())} if members is None else members,
        leader=HERE,
        now=9.0,
        requirements=requirements,
        **more,
    )
