"""What happens to jobs, as their leader sees it: another state, a checkpoint that completed, one that failed.

The leader compares what it knows now with what it knew before: a state that lasted less than ``LOOK_S`` may be left
out, never an end. What a leader has told is not stored. So one that begins to lead tells again what became of jobs
shortly before: an event may come twice, and then says so.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from seatunnel_core.clock import wall_clock
from seatunnel_core.server.events.reports import EventReports

if TYPE_CHECKING:
    from seatunnel_core.server.agent.agent import Agent

LOOK_S = 0.5

AGAIN_S = 60.0
"""What happened so long before the end of a leader is told again by the next one: the address had time to take the
rest."""

_OWN_S = 2.0
"""What is younger when a leader looks first may be its own doing, and so says nothing of the end of the one before."""


@frozen(kw_only=True)
class Known:
    """What is known of a job."""

    name: str
    state: str
    error: str = ""
    since: float = 0.0
    """When the state began, in seconds since 1970, as the leader of that time recorded it."""

    checkpoints: Mapping[int, tuple[int | None, int]] | None = None
    """By pipeline: the last one that completed, and how many have failed; ``None`` where no host tells it."""


def events_between(before: Mapping[str, Known], now: Mapping[str, Known], created_ms: int) -> Iterator[dict[str, Any]]:
    """Yield what happened between two looks. A job that is no more known has left the history, which is no event."""
    for job_id, job in now.items():
        was = before.get(job_id)
        told = {"jobId": job_id, "jobName": job.name, "createdTime": created_ms}
        if was is None or was.state != job.state:
            more = {"errorMsg": job.error} if job.error else {}
            yield {**told, "eventType": "JOB_STATUS", "jobStatus": job.state, **more}
        yield from _of_checkpoints(told, was, job)


def surely_told(found: Mapping[str, Known], now: float) -> dict[str, Known]:
    """Return what an earlier leader has told, of what a new one finds when it looks first.

    The youngest record that is not its own tells when the earlier one was still there, however long nobody led since.

    Args:
        found: what is known of all jobs.
        now: seconds since 1970.
    """
    last = max((job.since for job in found.values() if job.since < now - _OWN_S), default=0.0)
    return {job_id: job for job_id, job in found.items() if job.since < last - AGAIN_S}


def _of_checkpoints(told: Mapping[str, Any], was: Known | None, job: Known) -> Iterator[dict[str, Any]]:
    earlier = {} if was is None or was.checkpoints is None else was.checkpoints
    for pipeline, (completed, failed) in (job.checkpoints or {}).items():
        completed_before, failed_before = earlier.get(pipeline, (None, 0))
        of = {**told, "pipelineId": pipeline}
        if failed > failed_before:
            yield {**of, "eventType": "CHECKPOINT_FAILED", "failed": failed - failed_before}
        if completed is not None and completed != completed_before:
            yield {**of, "eventType": "CHECKPOINT_COMPLETED", "checkpointId": completed}


class EventWatch:
    """Tells the events of one node, while it leads.

    Args:
        agent: of the node.
        reports: tells them.
    """

    def __init__(self, agent: "Agent", reports: EventReports) -> None:
        self._agent = agent
        self._reports = reports

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        before: dict[str, Known] | None = None
        while True:
            now, at = self._known(), wall_clock()
            if now is not None:
                more = {} if before is not None else {"repeated": True}
                for event in events_between(surely_told(now, at) if before is None else before, now, int(at * 1000)):
                    self._reports.put({**event, **more})
            before = now
            await asyncio.sleep(LOOK_S)

    def _known(self) -> dict[str, Known] | None:
        """Return what is known of all jobs; ``None`` while this node does not lead."""
        state, users = self._agent.state, self._agent.users
        if state is None or not self._agent.leadership.leads():
            return None
        found = state.snapshot()
        known = {
            job_id: Known(name=job.name, state=job.state.value, error=job.error, since=job.ended_at)
            for job_id, job in found.history.items()
        }
        for job_id, job in found.jobs.items():
            pipelines = users.pipelines_of(job)
            known[job_id] = Known(
                name=job.name,
                state=users.state_of(job).value,
                since=job.since,
                checkpoints={
                    each["id"]: (each.get("checkpoint"), each.get("checkpoints_failed", 0)) for each in pipelines
                }
                if pipelines
                else None,
            )
        return known
