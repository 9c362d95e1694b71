"""Job events on the leader: state changes, and completed and failed checkpoints.

The leader compares consecutive views. It may miss states that lasted less than ``LOOK_S``, but never the end of a job.
Sent events are not stored, so a new leader sends recent events again, marked as possible duplicates.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from seatunnel_core.clock import wall_clock
from seatunnel_core.server.events.reports import EventReports
from seatunnel_core.server.observed_node import ObservedNode

LOOK_S = 0.5

AGAIN_S = 60.0
"""Time before the end of a leader's term, in seconds. The next leader resends the events of this period."""

_OWN_S = 2.0
"""Maximum age in seconds of records that this leader may have written itself."""


@frozen(kw_only=True)
class Known:
    """Known state of a job."""

    name: str
    state: str
    error: str = ""
    since: float = 0.0
    """Start of the state, in seconds since 1970, as recorded by the leader at that time."""

    checkpoints: Mapping[int, tuple[int | None, int]] | None = None
    """Last completed checkpoint and number of failed ones by pipeline; ``None`` if not reported."""


def events_between(before: Mapping[str, Known], now: Mapping[str, Known], created_ms: int) -> Iterator[dict[str, Any]]:
    """Yield the events between two views. The removal of a job from the history is not an event."""
    for job_id, job in now.items():
        was = before.get(job_id)
        told = {"jobId": job_id, "jobName": job.name, "createdTime": created_ms}
        if was is None or was.state != job.state:
            more = {"errorMsg": job.error} if job.error else {}
            yield {**told, "eventType": "JOB_STATUS", "jobStatus": job.state, **more}
        yield from _of_checkpoints(told, was, job)


def surely_told(found: Mapping[str, Known], now: float) -> dict[str, Known]:
    """Return the jobs in a new leader's first view for which an earlier leader has certainly sent the events.

    The newest record that this leader did not write shows how long the earlier leader was running.
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
    """Watcher that reports the events of jobs while this node leads."""

    def __init__(self, agent: ObservedNode, reports: EventReports) -> None:
        self._agent = agent
        self._reports = reports

    async def run(self) -> None:
        """Compare views periodically until cancelled."""
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
        """Return the known states of all jobs; ``None`` while this node does not lead."""
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
