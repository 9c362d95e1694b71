"""Dagster resource for a cluster."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from seatunnel_core.control.cluster_jobs import (
    PATIENCE_S,
    POLL_S,
    ClusterJobs,
    Following,
    JobView,
    Submission,
    stable_job_id,
)
from seatunnel_core.control.rest_client import RestAddress, RestClient
from seatunnel_core.errors import SeaTunnelError, UsageError

_ROOT_RUN_ID = "dagster/root_run_id"
"""Tag of a re-executed run that contains the ID of the original run."""


class SeaTunnelCluster(dg.ConfigurableResource):
    """Cluster that runs jobs."""

    nodes: list[str] = Field(
        description="REST addresses of the nodes, in the form host:port. If a node does not respond, another is used."
    )
    user: str = Field(default="", description="User name; the value of http.basic-auth-username.")
    password: str = Field(
        default="",
        description="Password; the value of http.basic-auth-password. Use an EnvVar to keep it out of the code.",
    )
    context_path: str = Field(default="", description="Path prefix; the value of http.context-path.")
    https: bool = False
    ca_file: str = Field(default="", description="PEM file with the trusted certificates for the nodes.")
    certificate: str = Field(default="", description="PEM file with this client's certificate and key.")
    poll_interval_s: float = Field(default=POLL_S, description="Interval between two queries of a job's status.")
    patience_s: float = Field(
        default=PATIENCE_S, description="Time after which a cluster that does not respond is reported as unreachable."
    )

    def __repr__(self) -> str:
        return f"SeaTunnelCluster(nodes={self.nodes!r}, user={self.user!r})"

    def jobs(self) -> ClusterJobs:
        """Return the client for the jobs of the cluster; raise ``UsageError`` for an invalid address or certificate."""
        address = RestAddress.of(
            self.nodes,
            user=self.user,
            password=self.password,
            context_path=self.context_path,
            https=self.https,
            ca_file=Path(self.ca_file) if self.ca_file else None,
            certificate=Path(self.certificate) if self.certificate else None,
        )
        return ClusterJobs(RestClient(address), patience_s=self.patience_s)

    def run(
        self,
        context: dg.AssetExecutionContext,
        text: str,
        *,
        format: str = "hocon",
        variables: Mapping[str, str] | None = None,
        job_name: str = "",
        job_id: str | None = None,
        file: str = "",
        timeout_s: float | None = None,
        cancel_when_interrupted: bool = True,
    ) -> dict[str, Any]:
        """Run a job for a step's assets, wait for its end, and return its metrics for the assets' metadata.

        A retried step, or a run that is re-executed after a failure, finds the job by its ID: it waits for a running
        job, returns the result of a finished one, resumes one that failed or was stopped, and submits one that the
        cluster does not know.

        Args:
            context: Context of the step.
            text: Text of the job.
            format: ``hocon``, ``json``, ``yaml`` or ``sql``.
            variables: Values for ``${…}`` in the job.
            job_name: Name that replaces the one in the job.
            job_id: ID of the job; ``None`` to derive it from the assets, the partition and the run.
            file: Name of the job's file, for messages.
            timeout_s: Time after which the job is cancelled and the step fails, in seconds; ``None`` for never.
            cancel_when_interrupted: True to cancel the job when the run is terminated.

        Raises:
            dagster.Failure: The job did not finish. If it was rejected, the step is not retried.
        """
        job_id = job_id or job_id_of(context)
        try:
            jobs = self.jobs()
        except UsageError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        submission = Submission(
            job_id=job_id, text=text, format=format, variables=dict(variables or {}), name=job_name, file=file
        )
        try:
            return self._done(context, jobs, submission, timeout_s)
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
            if cancel_when_interrupted:
                context.log.info("SeaTunnel job %s will be cancelled, because its run was terminated", job_id)
                jobs.cancel(job_id)
            raise
        except SeaTunnelError as error:
            raise dg.Failure(str(error)) from error

    def _done(
        self, context: dg.AssetExecutionContext, jobs: ClusterJobs, submission: Submission, timeout_s: float | None
    ) -> dict[str, Any]:
        try:
            taken = jobs.take(submission)
        except UsageError as error:
            raise dg.Failure(str(error), allow_retries=False) from error  # a retry would be rejected as well
        for warning in jobs.warnings:
            context.log.warning("SeaTunnel job %s: %s", submission.job_id, warning)
        context.log.info("SeaTunnel job %s %s", submission.job_id, taken.value)
        view = self._followed(context, jobs, submission.job_id, timeout_s)
        for warning in view.warnings:
            context.log.warning("SeaTunnel job %s: %s", view.job_id, warning)
        if why := view.failure():
            raise dg.Failure(why, metadata=view.figures())
        context.log.info("SeaTunnel job %s: %s", view.job_id, view.line())
        return view.figures()

    def _followed(
        self, context: dg.AssetExecutionContext, jobs: ClusterJobs, job_id: str, timeout_s: float | None
    ) -> JobView:
        following = Following(jobs, job_id)
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not (view := following.refresh()).has_ended:
            if news := following.news():
                context.log.info("SeaTunnel job %s: %s", job_id, news)
            if until is not None and time.monotonic() > until:
                jobs.cancel(job_id)
                raise dg.Failure(
                    f"the job {job_id} took longer than {timeout_s:g} s: {view.line()}", metadata=view.figures()
                )
            time.sleep(self.poll_interval_s)
        return view


def job_id_of(context: dg.AssetExecutionContext) -> str:
    """Return the ID of a step's job, which is the same for all attempts and for runs that resume a failed run."""
    assets = sorted(key.to_user_string() for key in context.selected_asset_keys)
    run_id = context.run.tags.get(_ROOT_RUN_ID) or context.run.run_id
    return stable_job_id("dagster", *assets, *_partition(context), run_id)


def _partition(context: dg.AssetExecutionContext) -> list[str]:
    if context.has_partition_key:
        return [context.partition_key]
    if context.has_partition_key_range:
        return [context.partition_key_range.start, context.partition_key_range.end]
    return []
