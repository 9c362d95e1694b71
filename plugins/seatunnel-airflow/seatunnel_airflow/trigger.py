"""Trigger that waits in Airflow's triggerer for the end of a job."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from seatunnel_airflow.hook import SeaTunnelHook
from seatunnel_core.control.cluster_jobs import ClusterJobs, Following
from seatunnel_core.errors import SeaTunnelError


class SeaTunnelJobTrigger(BaseTrigger):
    """Trigger that fires when a job has ended or its state can no longer be requested.

    Its state consists only of its arguments, so another triggerer can continue it. Its event contains ``job`` with the
    final state, or ``timeout``, or ``error`` with the reason why the final state is unknown.

    Args:
        seatunnel_conn_id: The connection of the cluster.
        job_id: ID of a job that the cluster knows.
        poll_interval_s: Time between two status requests, in seconds.
        patience_s: Time for which requests are retried while the cluster does not respond, in seconds.
        until: Time at which the job is cancelled, in seconds since 1970; ``None`` for never.
        cancel_on_kill: True to cancel the job when the task is marked or cleared.
    """

    def __init__(
        self,
        *,
        seatunnel_conn_id: str,
        job_id: str,
        poll_interval_s: float,
        patience_s: float,
        until: float | None = None,
        cancel_on_kill: bool = True,
    ) -> None:
        super().__init__()
        self.seatunnel_conn_id = seatunnel_conn_id
        self.job_id = job_id
        self.poll_interval_s = poll_interval_s
        self.patience_s = patience_s
        self.until = until
        self.cancel_on_kill = cancel_on_kill

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the name of this class and its arguments."""
        names = ("seatunnel_conn_id", "job_id", "poll_interval_s", "patience_s", "until", "cancel_on_kill")
        return "seatunnel_airflow.trigger.SeaTunnelJobTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for the end of the job and yield one event."""
        try:
            yield TriggerEvent(await self._event(await self._jobs()))
        except SeaTunnelError as error:
            yield TriggerEvent({"error": str(error)})

    async def _jobs(self) -> ClusterJobs:
        return await SeaTunnelHook(self.seatunnel_conn_id, patience_s=self.patience_s).aget_conn()

    async def _event(self, jobs: ClusterJobs) -> dict[str, Any]:
        following = Following(jobs, self.job_id)
        while not (view := await asyncio.to_thread(following.refresh)).has_ended:
            if news := following.news():
                self.log.info("SeaTunnel job %s: %s", self.job_id, news)
            if self.until is not None and time.time() > self.until:
                await asyncio.to_thread(jobs.cancel, self.job_id)
                return {"timeout": view.line()}
            await asyncio.sleep(self.poll_interval_s)
        return {"job": view.to_json()}

    async def on_kill(self) -> None:
        """Cancel the job when the task is marked or cleared."""
        if self.cancel_on_kill:
            self.log.info("SeaTunnel job %s will be cancelled, because its task was killed", self.job_id)
            jobs = await self._jobs()
            await asyncio.to_thread(jobs.cancel, self.job_id)
