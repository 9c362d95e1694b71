"""What a leader knows when it decides."""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from seatunnel_core.server.description import Description, shown_at_end
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.requirements import Requirements
from seatunnel_core.server.state.attempts import PastAttempt, shortened, with_attempt
from seatunnel_core.server.state.records import DesiredState, EndedJob, JobRecord, JobState

CANCELLED = (DesiredState.CANCEL, DesiredState.CANCEL_AT_ONCE)

GIVE_UP_AFTER_S = 50.0
"""A cancelled job whose host cannot be reached is at its end after so long, whatever it still does there."""


@frozen(kw_only=True)
class Member:
    """What the leader knows of a member."""

    report: MemberReport | None = None
    """``None`` until it has answered this leader."""

    lost: bool = False
    """Whether it has been silent for too long: its jobs are given to others."""

    busy: bool = False
    """Whether orders are under way to it, which its report does not show yet."""

    @property
    def known(self) -> MemberReport | None:
        """Its report, if that is what is the case now."""
        return None if self.lost or self.busy else self.report


@frozen(kw_only=True)
class View:
    """What is known at one moment. All ages are by this leader's own clock, and lost with it."""

    jobs: Mapping[str, JobRecord]
    members: Mapping[str, Member]
    """By address: all that the leader knows of, and all that records name."""

    leader: str
    now: float
    """Seconds since 1970; goes into records for display only."""

    requirements: Mapping[str, Requirements] = field(factory=dict)
    waits: bool = False
    """Whether a job that finds no slot waits, instead of being rejected."""

    stopping_s: Mapping[str, float] = field(factory=dict)
    """By job that is to end: for how long that is known."""

    waiting_s: Mapping[str, float] = field(factory=dict)
    """By job without a host: for how long it has none."""

    placed_s: Mapping[str, float] = field(factory=dict)
    """By job with a host: for how long this attempt has had it."""

    orphaned_s: Mapping[str, float] = field(factory=dict)
    """By job that a host has and no record names, as ``following.orphaned_jobs`` calls it: for how long."""

    descriptions: Mapping[str, Description] = field(factory=dict)
    """By job: what its text says of it, for the history."""

    def requirements_of(self, job_id: str) -> Requirements:
        """Return what a job asks for."""
        return self.requirements.get(job_id, Requirements())

    def released(self, record: JobRecord, *, deaths: int, cause: str) -> JobRecord:
        """Return the record of a job that has no host any more and waits for another one.

        Args:
            record: As it was.
            deaths: Hosts in a row that ended with the job.
            cause: Why this attempt ended, for the user.
        """
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
        """Return the attempts of a job with the one that ends now; without it if no host has the job."""
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
        """Return whether a cancelled job without a host that runs it is at its end.

        It is not while a host that could not be reached may still run it, unless that cannot be changed in time.
        """
        return not record.unfenced or self.stopping_s.get(record.job_id, 0.0) > GIVE_UP_AFTER_S

    def ended(
        self, record: JobRecord, state: JobState, *, error: str = "", hosted: HostedJob | None = None
    ) -> EndedJob:
        """Return the record of a job that has ended now; ``hosted`` is what its host reported last."""
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
    """Return whether an attempt may have claimed a job; what nobody can tell counts as one."""
    if record.restore and not record.fresh:
        return True
    return record.attempt > 1 or (record.attempt == 1 and (hosted is None or hosted.claimed))
