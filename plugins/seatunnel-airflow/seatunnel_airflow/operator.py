"""Airflow task that runs a job on a cluster."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from seatunnel_airflow.hook import SeaTunnelHook
from seatunnel_airflow.trigger import SeaTunnelJobTrigger
from seatunnel_core.control.cluster_jobs import (
    PATIENCE_S,
    POLL_S,
    ClusterJobs,
    Following,
    JobView,
    Submission,
    Taken,
    format_of,
    stable_job_id,
)
from seatunnel_core.errors import SeaTunnelError, UsageError


class SeaTunnelOperator(BaseOperator):
    """Task that runs a job on a cluster and waits for it to finish.

    A retried task finds its job by ID: it waits for a running job, returns the result of a finished one, resumes one
    that failed or was stopped, and submits one that the cluster does not know. The result is a mapping with ``job_id``,
    ``state``, ``rows_read``, ``rows_written``, ``rows_committed``, ``last_checkpoint``, ``duration_s`` and others.

    Args:
        job: The job: its text, a mapping, or the name of a file next to the Dag, such as ``orders.conf``. Templated.
        format: ``hocon``, ``json``, ``yaml`` or ``sql``; ``None`` to derive it from the file's extension, else HOCON or
            JSON.
        variables: Values for ``${…}`` in the job. Templated.
        job_name: Name of the job, replacing the one in the file. Templated.
        job_id: ID of the job; ``None`` to derive it from the Dag, the run, the task and the map index. Templated.
        seatunnel_conn_id: The connection of the cluster.
        poll_interval_s: Time between two status requests, in seconds.
        patience_s: Time for which requests are retried while the cluster does not respond or has no leader, in seconds.
        cancel_on_kill: True to cancel the job when the task is killed, marked or cleared while it runs, or exceeds its
            ``execution_timeout``. The next attempt then continues it.
        deferrable: True to wait in the triggerer instead of a worker; ``None`` to use Airflow's configuration.
    """

    template_fields: Sequence[str] = ("job", "variables", "job_name", "job_id")
    template_ext: Sequence[str] = (".conf", ".json", ".yaml", ".yml", ".sql")
    template_fields_renderers = {"job": "json", "variables": "json"}  # noqa: RUF012 # as Airflow declares it
    ui_color = "#e8f0fe"

    def __init__(
        self,
        *,
        job: str | Mapping[str, Any],
        format: str | None = None,
        variables: Mapping[str, str] | None = None,
        job_name: str = "",
        job_id: str | None = None,
        seatunnel_conn_id: str = SeaTunnelHook.default_conn_name,
        poll_interval_s: float = POLL_S,
        patience_s: float = PATIENCE_S,
        cancel_on_kill: bool = True,
        deferrable: bool | None = None,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.job = job
        self.format = format or (format_of(job) if isinstance(job, str) else "json")
        self._file = job if isinstance(job, str) and job.endswith(tuple(self.template_ext)) else ""
        """Name of the job file. When the template is rendered, the file's text replaces the name."""

        self.variables = variables
        self.job_name = job_name
        self.job_id = job_id
        self.seatunnel_conn_id = seatunnel_conn_id
        self.poll_interval_s = poll_interval_s
        self.patience_s = patience_s
        self.cancel_on_kill = cancel_on_kill
        self.deferrable = conf.getboolean("operators", "default_deferrable") if deferrable is None else deferrable
        self._jobs: ClusterJobs | None = None
        self._running = ""
        """ID of the job while it may be running."""

        self._killed = False

    def execute(self, context: Any) -> dict[str, Any]:
        """Run the job and return its metrics."""
        job_id = self.job_id or _job_id(context)
        try:
            taken = self._take(job_id)
            if self.deferrable and taken is not Taken.FINISHED:
                self._defer(job_id)
            return self._ended(self._follow(job_id))
        except SeaTunnelError as error:
            raise AirflowException(str(error)) from error

    def _take(self, job_id: str) -> Taken:
        try:
            self._jobs = SeaTunnelHook(self.seatunnel_conn_id, patience_s=self.patience_s).get_conn()
            self._running = job_id
            taken = self._jobs.take(self._submission(job_id))
        except UsageError as error:
            raise AirflowFailException(str(error)) from error  # a retry would be rejected as well
        for warning in self._jobs.warnings:
            self.log.warning("SeaTunnel job %s: %s", job_id, warning)
        self.log.info("SeaTunnel job %s %s", job_id, taken.value)
        if self._killed:
            self._jobs.cancel(job_id)  # the job may have been submitted nevertheless
        return taken

    def _submission(self, job_id: str) -> Submission:
        return Submission(
            job_id=job_id,
            text=self.job if isinstance(self.job, str) else json.dumps(self.job),
            format=self.format,
            variables={name: str(value) for name, value in (self.variables or {}).items()},
            name=self.job_name,
            file=self._file,
        )

    def _follow(self, job_id: str) -> JobView:
        assert self._jobs is not None
        following = Following(self._jobs, job_id)
        while not (view := following.refresh()).has_ended:
            if news := following.news():
                self.log.info("SeaTunnel job %s: %s", job_id, news)
            time.sleep(self.poll_interval_s)
        self._running = ""
        return view

    def _defer(self, job_id: str) -> None:
        """Defer the task to the triggerer by raising an exception."""
        timeout = self.execution_timeout
        self.defer(
            trigger=SeaTunnelJobTrigger(
                seatunnel_conn_id=self.seatunnel_conn_id,
                job_id=job_id,
                poll_interval_s=self.poll_interval_s,
                patience_s=self.patience_s,
                until=None if timeout is None else time.time() + timeout.total_seconds(),
                cancel_on_kill=self.cancel_on_kill,
            ),
            method_name="execute_complete",
        )

    def execute_complete(self, context: Any, event: Mapping[str, Any]) -> dict[str, Any]:
        """Resume the task after its trigger fired, and return the job's metrics."""
        if "timeout" in event:
            raise AirflowTaskTimeout(f"the job took longer than {self.execution_timeout}: {event['timeout']}")
        if "error" in event:
            raise AirflowException(event["error"])
        return self._ended(JobView(**event["job"]))

    def _ended(self, view: JobView) -> dict[str, Any]:
        for warning in view.warnings:
            self.log.warning("SeaTunnel job %s: %s", view.job_id, warning)
        if why := view.failure():
            raise AirflowException(why)
        self.log.info("SeaTunnel job %s: %s", view.job_id, view.line())
        return view.figures()

    def on_kill(self) -> None:
        """Cancel the job when the task is killed or times out."""
        if self.cancel_on_kill and self._running and self._jobs is not None:
            self.log.info("SeaTunnel job %s will be cancelled, because its task was killed", self._running)
            self._killed = True
            self._jobs.cancel(self._running)


def _job_id(context: Any) -> str:
    """Return the ID of a task's job, which is the same for all attempts."""
    instance = context["ti"]
    mapped = [str(instance.map_index)] if instance.map_index is not None and instance.map_index >= 0 else []
    return stable_job_id("airflow", instance.dag_id, instance.task_id, instance.run_id, *mapped)
