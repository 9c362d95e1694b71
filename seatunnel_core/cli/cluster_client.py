"""``seatunnel -m cluster``: submits a job to a cluster and waits for its end, or sends requests about jobs."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.claiming.job_id import new_job_id
from seatunnel_core.cli.cluster_arguments import ClusterArguments
from seatunnel_core.cli.command import STOPPED
from seatunnel_core.cli.progress import job_progress_line
from seatunnel_core.cli.terminal.text import table
from seatunnel_core.config.engine import find_engine_file, idle_client_options
from seatunnel_core.config.file import read_text
from seatunnel_core.config.hazelcast import DEFAULT_PORT, ClientConfig, ClusterConfig, addresses, load_hazelcast
from seatunnel_core.config.problem import Problems
from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.cluster_jobs import format_of, warnings_of_job
from seatunnel_core.control.node_client import JobStoppingError, NoLeaderError
from seatunnel_core.control.signing import SECRET_FILE, read_secret
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError
from seatunnel_core.planning.variable_uses import Use, refuse_secrets, uses

POLL_S = 0.25
PATIENCE_S = 60.0
"""Seconds without a response after which the client stops waiting for its job; longer than a leader election."""

ANSWER_S = 20.0
"""Seconds to wait for a response before the request is sent to another node."""

LEADERLESS_S = 20.0
"""Seconds to wait for a reachable cluster to elect a leader."""

EXIT_CODES = {"FINISHED": 0, "FAILED": 1, "CANCELED": STOPPED, "SAVEPOINT_DONE": STOPPED}


@frozen(kw_only=True)
class ClientPlace:
    """Addresses of a cluster, and the folder for the client's files."""

    cluster: str
    members: tuple[str, ...]
    folder: Path
    client: ClusterClient


def ask_cluster(arguments: ClusterArguments) -> int:
    """Execute the request, and return the exit code."""
    place = client_place(arguments)
    client = place.client
    if arguments.jvm_options:
        print(
            "-DJvmOption has no effect on a cluster: jobs run on its nodes, and the file jvm_options on each node "
            "sets their JVM options",
            flush=True,
        )
    if arguments.config is not None:
        if idle := idle_client_options(place.folder):
            print(f"warning: {idle}", flush=True)
        print(f"Mode: cluster {place.cluster!r} at {', '.join(place.members)}", flush=True)
        return _submit(client, arguments)
    if arguments.listed:
        print(_table([*client.ask("GET", "/running-jobs"), *client.ask("GET", "/finished-jobs")]))
    elif arguments.shown is not None:
        print(json.dumps(_job(client, arguments.shown), indent=1))
    elif arguments.metrics is not None:
        print(json.dumps(_job(client, arguments.metrics)["metrics"], indent=1))
    elif arguments.all_metrics:
        running = client.ask("GET", "/running-jobs")
        print(json.dumps({job["jobId"]: job["metrics"] for job in running}, indent=1))
    elif arguments.savepoint is not None:
        _require(client, arguments.savepoint)
        client.ask("POST", "/stop-job", {"jobId": arguments.savepoint, "isStopWithSavePoint": True})
        return _wait(client, arguments.savepoint, expected="SAVEPOINT_DONE")
    return _cancel(client, arguments.cancelled, at_once=arguments.at_once)


def _cancel(client: ClusterClient, job_ids: Sequence[str], *, at_once: bool) -> int:
    """Cancel all given jobs; raise ``UsageError`` at the end if a request failed."""
    refused = []
    for job_id in job_ids:
        try:
            _require(client, job_id)
            client.ask("POST", "/stop-job", {"jobId": job_id, "force": at_once})
        except UsageError as error:
            refused.append(str(error))
        else:
            print(f"Cancellation of job {job_id} requested.", flush=True)
    if refused:
        raise UsageError("\n".join(refused))
    return 0


def client_place(arguments: ClusterArguments, environment: Mapping[str, str] = os.environ) -> ClientPlace:
    """Return the cluster configured in ``hazelcast-client.yaml`` or ``hazelcast.yaml``; by default this machine."""
    engine = find_engine_file(arguments.engine_config, environment, Path())
    folder = engine.parent if engine is not None else Path(environment.get("SEATUNNEL_HOME", "."), "config")
    name = "seatunnel"
    members: tuple[str, ...] = (f"127.0.0.1:{DEFAULT_PORT}",)
    for file in ("hazelcast-client.yaml", "hazelcast.yaml", "hazelcast-master.yaml"):
        found = _hazelcast(folder / file)
        if isinstance(found, ClientConfig) and found.members:
            name, members = found.cluster_name, addresses(found.members)
            break
        if isinstance(found, ClusterConfig) and found.members:
            name, members = found.name, addresses(found.members, found.port, auto_increment=found.auto_increment)
            break
    cluster = arguments.cluster or name
    client = ClusterClient(members, cluster, read_secret(folder / SECRET_FILE), answer_s=ANSWER_S)
    return ClientPlace(cluster=cluster, members=members, folder=folder, client=client)


def _hazelcast(path: Path) -> ClusterConfig | ClientConfig | None:
    if not path.is_file():
        return None
    problems = Problems()
    found = load_hazelcast(path, problems)
    problems.raise_errors()
    return found


def _submit(client: ClusterClient, arguments: ClusterArguments) -> int:
    assert arguments.config is not None
    text = read_text(arguments.config)
    job_id = arguments.restore or arguments.set_job_id or new_job_id()  # generated here, so retries start only one job
    request = {
        "job_id": job_id,
        "name": arguments.name or "",
        "text": text,
        "format": format_of(arguments.config.name),
        "variables": _variables(text, str(arguments.config), arguments.variables),
        "restore": arguments.restore is not None,
        "origin": str(arguments.config),
    }
    print(f"Start submit job, job id: {job_id}, with plugin jar []", flush=True)
    with _terminated_as_by_ctrl_c():
        try:
            answer = _submitted(client, request, is_new=arguments.restore is None and arguments.set_job_id is None)
            for warning in answer.get("warnings", ()):
                print(f"warning: {warning}", flush=True)
            print(f"Submit job finished, job id: {job_id}, job name: {answer['jobName']}", flush=True)
            return 0 if arguments.leave else _wait(client, job_id)
        except KeyboardInterrupt:
            if arguments.leave or not arguments.close_job:
                print(f"This command ends; the job {job_id} continues.", flush=True)
                return STOPPED
            client.ask("POST", "/stop-job", {"jobId": job_id})
            print(f"Cancellation of job {job_id} requested, because this command was interrupted.", flush=True)
            return _wait(client, job_id)


@contextlib.contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _submitted(client: ClusterClient, request: Mapping[str, Any], *, is_new: bool) -> Any:
    """Return the response to a submission; ``is_new`` is True if the client generated the job ID.

    A node may accept a job and crash before it responds. The job may then have ended when the request is repeated.
    """
    try:
        return _ask_patiently(client, request)
    except UsageError:
        found = client.ask("GET", f"/job-info/{request['job_id']}") if is_new else {}
        if "finishTime" not in found:
            raise
        return found


def _ask_patiently(client: ClusterClient, request: Mapping[str, Any]) -> Any:
    """Submit the job, and retry while the cluster elects a leader or the job is being stopped."""
    until = time.monotonic() + LEADERLESS_S
    while True:
        try:
            return client.ask("POST", "/internal/v1/submit", request)
        except (NoLeaderError, JobStoppingError):
            if time.monotonic() > until:
                raise
            time.sleep(POLL_S)


def _variables(
    text: str, name: str, given: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables to send with a job: values from ``-i``, and local environment variables that the job uses.

    The environments of the nodes differ. Secrets are not sent, because the cluster stores submitted jobs.

    Raises:
        ConfigError: A variable set with ``-i`` is used as a secret.
    """
    problems = Problems()
    refuse_secrets(text, name, given, problems)
    problems.raise_errors()
    sent: dict[str, str] = dict(given)
    kept: dict[str, Use] = {}
    for use in uses(text, name, given, environment):
        if use.is_secret:
            kept.setdefault(use.name, use)
        elif use.name not in given:
            sent[use.name] = environment[use.name]
    for variable, use in kept.items():
        sent.pop(variable, None)
        where = f"{use.position}: ${{{variable}}}"
        print(f"{where} is not sent, because {use.keys} is a secret: each node uses its own value", flush=True)
    return sent


def _wait(client: ClusterClient, job_id: str, *, expected: str = "FINISHED") -> int:
    """Show the progress of a job until it ends or the cluster becomes unreachable; return the exit code."""
    state, heard_at = "", time.monotonic()
    with job_progress_line() as line:
        _learn(client)
        while True:
            try:
                job = client.ask("GET", f"/job-info/{job_id}")
            except PlatformError:
                if time.monotonic() - heard_at > PATIENCE_S:
                    raise
            else:
                heard_at = time.monotonic()
                if job.get("jobStatus", "") != state:
                    state = job.get("jobStatus", "")
                    line.write(f"Job {job_id}: {state}")
                if "finishTime" in job:
                    break
                if not state:
                    raise UsageError(f"job {job_id} no longer exists in the cluster")
                line.tell(job)
            time.sleep(POLL_S)
    print(_closing(job))
    return 0 if state == expected else EXIT_CODES.get(state, 1)


def _learn(client: ClusterClient) -> None:
    """Add the nodes that the responding node knows, so that the client also works if the configured nodes fail."""
    with contextlib.suppress(PlatformError, UsageError, StoredValueError):
        found = client.ask("GET", "/internal/v1/members")
        client.learn([stored.text(found, "leader"), *stored.texts(found, "members")])


def _closing(job: Mapping[str, Any]) -> str:
    """Return the warnings of the run, SeaTunnel's result table, and the cause of a failure."""
    metrics = job["metrics"]
    rows = (
        ("Start Time", job["createTime"]),
        ("End Time", job["finishTime"]),
        ("Total Read Count", metrics.get("SourceReceivedCount", "0")),
        ("Total Write Count", metrics.get("SinkWriteCount", "0")),
        ("Total Committed Count", metrics.get("SinkCommittedCount", "0")),
    )
    lines = [f"warning: {warning}" for warning in warnings_of_job(job)]
    lines += ["", f"{'Job Statistic Information':^44}", *(f"{name:<24}: {value}" for name, value in rows)]
    return "\n".join([*lines, *([f"\n{job['errorMsg']}"] if job.get("errorMsg") else [])])


def _job(client: ClusterClient, job_id: str) -> dict[str, Any]:
    found = client.ask("GET", f"/job-info/{job_id}")
    if "jobStatus" not in found:
        raise UsageError(f"job {job_id} does not exist in the cluster: it never ran there, or its history has expired")
    return dict(found)


def _require(client: ClusterClient, job_id: str) -> None:
    found = _job(client, job_id)
    if "finishTime" in found:
        raise UsageError(f"the job {job_id} has ended: {found['jobStatus']}")


def _table(jobs: list[dict[str, Any]]) -> str:
    rows = [("Job ID", "Job Name", "Job Status", "Submit Time", "Finished Time")]
    rows += [
        (job["jobId"], job["jobName"], job["jobStatus"], job["createTime"], job.get("finishTime", "")) for job in jobs
    ]
    return table(rows, indent="")
