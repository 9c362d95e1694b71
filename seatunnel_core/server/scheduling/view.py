"""The leader's view of the cluster, from which decisions are made."""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from seatunnel_core.reporting.recent import shortened
from seatunnel_core.server.description import Description, shown_at_end
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.state.records import (
    DesiredState,
    EndedJob,
    JobRecord,
    JobState,
    PastAttempt,
    Requirements,
    with_attempt,
)

CANCELLED = (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE)

GIVE_UP_AFTER_S = 50.0
"""Time after which a cancelled job with an unreachable worker process is considered ended, in seconds."""


@frozen(kw_only=True)
class Member:
    """The leader's view of a member."""

    report: MemberReport | None = None
    """Latest report; ``None`` before the first report to this leader."""

    lost: bool = False
    """True if the member has not responded for too long. Its jobs are then assigned to other members."""

    busy: bool = False
    """True if the report may not reflect the last orders yet."""

    @property
    def known(self) -> MemberReport | None:
        """Report of the member; ``None`` if it is not current."""
        return None if self.lost or self.busy else self.report


@frozen(kw_only=True)
class View:
    """State of the cluster as known to the leader. Durations are measured with the leader's clock and not stored."""

    jobs: Mapping[str, JobRecord]
    members: Mapping[str, Member]
    """Members known to the leader or named in records, by address."""

    leader: str
    now: float
    """Current time, in seconds since 1970; recorded for display only."""

    requirements: Mapping[str, Requirements] = field(factory=dict)
    waits: bool = False
    """True if jobs wait for free slots instead of being rejected."""

    stopping_s: Mapping[str, float] = field(factory=dict)
    """Time since the cancellation of a job was requested, by job. A savepoint before it does not count."""

    waiting_s: Mapping[str, float] = field(factory=dict)
    """Waiting time of each job that has no worker process."""

    placed_s: Mapping[str, float] = field(factory=dict)
    """Time since the current attempt was assigned, for each job that has a worker process."""

    orphaned_s: Mapping[str, float] = field(factory=dict)
    """Time since a job was orphaned, under the key of the job in ``following.orphaned_jobs``."""

    descriptions: Mapping[str, Description] = field(factory=dict)
    """Descriptions for the history, by job."""

    def requirements_of(self, job_id: str) -> Requirements:
        """Return the requirements of a job."""
        return self.requirements.get(job_id, Requirements())

    def released(self, record: JobRecord, *, deaths: int, cause: str) -> JobRecord:
        """Return the record of a job that lost its worker process and waits for another; users see ``cause``."""
        state = JobState.CANCELING if record.wanted in CANCELLED else JobState.PENDING
        return evolve(
            record,
            state=state,
            host="",
            process="",
            dedicated=False,
            deaths=deaths,
            since=self.now,
            placed_at=0.0,
            past=self._past(record, cause),
        )

    def _past(self, record: JobRecord, cause: str) -> tuple[PastAttempt, ...]:
        """Return the past attempts of a job, including the current one, which ends now."""
        if not record.host:
            return record.past
        ended = PastAttempt(
            attempt=record.attempt,
            host=record.host,
            started_at=record.placed_at,
            ended_at=self.now,
            cause=shortened(cause),
        )
        return with_attempt(record.past, ended)

    def may_end(self, record: JobRecord) -> bool:
        """Return True if a cancelled job without a known worker process may be recorded as ended.

        If an unreachable process may still run the job, this is only allowed after ``GIVE_UP_AFTER_S``.
        """
        return not record.unfenced or self.stopping_s.get(record.job_id, 0.0) > GIVE_UP_AFTER_S

    def ended(
        self, record: JobRecord, state: JobState, *, error: str = "", hosted: HostedJob | None = None
    ) -> EndedJob:
        """Return the history record of a job that ends now; ``hosted`` is its last report."""
        described = self.descriptions.get(record.job_id, Description())
        return EndedJob(
            job_id=record.job_id,
            name=record.name,
            state=state,
            error=error,
            attempts=record.attempt,
            submitted_at=record.submitted_at,
            ended_at=self.now,
            env=described.env,
            metrics={} if hosted is None else hosted.metrics,
            restored=record.restore,
            host=record.host,
            begun=_has_begun(record, hosted),
            shown=shown_at_end(described, hosted),
            past=self._past(record, error),
        )


def _has_begun(record: JobRecord, hosted: HostedJob | None) -> bool:
    """Return True if an attempt may have claimed a job, or if this is unknown."""
    if record.unfenced or (record.restore and not record.fresh):
        return True
    return record.attempt > 0 and (hosted is None or hosted.claimed)
