"""Client for orchestrators: programs that start a job in a cluster, wait for its end, and may be killed while waiting.

Such a program assigns a reproducible ID to a job. After a restart it calls ``take`` with the same ID, which performs
only the remaining steps. A job is therefore submitted only once, even if the program, a node or the leader fails in
between. Only the standard library and ``attrs`` are imported, to keep the import cheap.
"""

import enum
import hashlib
import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from attrs import asdict, evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.control.node_client import JobStoppingError, NodeClient
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError

Value = TypeVar("Value")

PATIENCE_S = 60.0
"""Seconds without a response or a leader after which an error is raised; longer than a leader election."""

POLL_S = 1.0
_AGAIN_S = 0.5
_MOST_TURNS = 5

_FORMATS = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".sql": "sql"}
_STOPPING = frozenset({"CANCELING", "DOING_SAVEPOINT"})
_LONGEST_ID = 128
_NOT_IN_HEADERS = {**dict.fromkeys(range(32)), ord('"'): "_", ord("\\"): "_"}


def format_of(name: str) -> str:
    """Return the job format implied by the file extension; for unknown extensions, HOCON, a superset of JSON."""
    return _FORMATS.get(PurePath(name).suffix.lower(), "hocon")


def stable_job_id(*parts: str) -> str:
    """Return a job ID that depends only on the given parts: equal parts have equal IDs."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))[: _LONGEST_ID - 17].strip("-.")
    return f"{readable}-{digest}" if readable else digest


@frozen(kw_only=True)
class Submission:
    """A job to submit."""

    job_id: str
    text: str = field(repr=False)
    """Text of the job; may contain secrets."""

    format: str = "hocon"
    """Format of the text: ``hocon``, ``json``, ``yaml`` or ``sql``."""

    variables: Mapping[str, str] = field(factory=dict, repr=False)
    """Values for ``${…}`` in the text; may contain secrets."""

    name: str = ""
    """Name of the job; if empty, the name in the text is used."""

    file: str = field(default="", repr=False)
    """File name for messages; empty if the job has no file."""


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen(kw_only=True)
class JobView:
    """State of a job, as returned by a node."""

    job_id: str
    state: str
    """State as SeaTunnel names it; empty if the cluster has no such job."""

    name: str = ""
    error: str = ""

    waits_for: str = ""
    """Reason why the job waits for a worker process."""

    rows_read: int | None = None
    rows_written: int | None = None
    rows_committed: int | None = None
    checkpoint: int | None = None
    """Highest ID of a completed checkpoint of its pipelines, or ``None``."""

    created: str = ""
    """Time of submission as ``yyyy-MM-dd HH:mm:ss`` in the node's time zone."""

    finished: str = ""
    """Time at which the job ended, in the format of ``created``; empty until then."""

    warnings: tuple[str, ...] = field(default=(), converter=_texts)
    """Warnings about rows and files during the run."""

    @classmethod
    def of(cls, block: Any) -> "JobView":
        """Parse the job in a response from ``/job-info``."""
        job_id = stored.text(block, "jobId")
        if "jobStatus" not in block:
            return cls(job_id=job_id, state="")
        metrics = block.get("metrics") or {}
        pipelines = [each for each in block.get("pipelines") or () if isinstance(each, Mapping)]
        checkpoints = [each["checkpoint"] for each in pipelines if isinstance(each.get("checkpoint"), int)]
        return cls(
            job_id=job_id,
            state=stored.text(block, "jobStatus"),
            name=str(block.get("jobName") or ""),
            error=str(block.get("errorMsg") or ""),
            waits_for=str(block.get("pendingReason") or ""),
            rows_read=_count(metrics, "SourceReceivedCount"),
            rows_written=_count(metrics, "SinkWriteCount"),
            rows_committed=_count(metrics, "SinkCommittedCount"),
            checkpoint=max(checkpoints, default=None),
            created=str(block.get("createTime") or ""),
            finished=str(block.get("finishTime") or ""),
            warnings=warnings_of_job(block),
        )

    @property
    def has_ended(self) -> bool:
        """True if the job has ended."""
        return bool(self.finished)

    @property
    def duration_s(self) -> int | None:
        """Seconds from submission to the end; ``None`` before the end, or if a time cannot be parsed."""
        try:
            return int((_moment(self.finished) - _moment(self.created)).total_seconds())
        except ValueError:
            return None

    def figures(self) -> dict[str, Any]:
        """Return the known properties of the job by name, as JSON values."""
        named = {
            "job_id": self.job_id,
            "job_name": self.name,
            "state": self.state,
            "rows_read": self.rows_read,
            "rows_written": self.rows_written,
            "rows_committed": self.rows_committed,
            "last_checkpoint": self.checkpoint,
            "duration_s": self.duration_s,
            "created": self.created,
            "finished": self.finished,
        }
        return {name: value for name, value in named.items() if value not in (None, "")}

    def line(self) -> str:
        """Describe the state in one line, with the reason for waiting or the row counts."""
        counts = ((self.rows_read, "read"), (self.rows_written, "written"), (self.rows_committed, "committed"))
        known = ((count, done) for count, done in counts if count is not None)
        rows = ", ".join(f"{count} row{'' if count == 1 else 's'} {done}" for count, done in known)
        return ": ".join(filter(None, (self.state, self.waits_for or rows)))

    def failure(self) -> str:
        """Return the reason why an ended job did not finish; empty if it finished."""
        how = {
            "FINISHED": "",
            "FAILED": f"failed: {self.error or 'no reason is available; see the log of the job'}",
            "CANCELED": "was cancelled",
            "SAVEPOINT_DONE": "was stopped with a savepoint",
        }.get(self.state, f"ended as {self.state}")
        return f"the job {self.job_id} {how}" if how else ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value from which ``JobView(**value)`` restores this view."""
        return asdict(self)


def warnings_of_job(block: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the warnings in a response from ``/job-info``, prefixed with the pipeline if the job has several."""
    pipelines = [each for each in block.get("pipelines") or () if isinstance(each, Mapping)]
    several = len(pipelines) > 1
    return tuple(
        f"pipeline {each.get('id')} {each.get('name')}: {warning}" if several else str(warning)
        for each in pipelines
        for warning in each.get("warnings") or ()
    )


def _count(metrics: Mapping[str, Any], name: str) -> int | None:
    try:
        return int(float(metrics[name]))
    except (KeyError, TypeError, ValueError):
        return None


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")


class Taken(enum.Enum):
    """Action that ``take`` performed."""

    SUBMITTED = "is submitted"
    """The cluster had no job with this ID."""

    FOLLOWED = "already exists and is monitored"
    RESTORED = "ended before it was complete, and resumes from its last checkpoint"
    FINISHED = "has finished already"


class ClusterJobs:
    """Jobs of a cluster. Requests are retried for ``patience_s`` if the cluster does not respond or has no leader."""

    def __init__(
        self, client: NodeClient, *, patience_s: float = PATIENCE_S, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.patience_s = patience_s
        self.warnings: tuple[str, ...] = ()
        """Warnings about the job that ``take`` submitted last."""

        self._client = client
        self._sleep = sleep

    def view(self, job_id: str) -> JobView:
        """Return the state of a job; its ``state`` is empty if the cluster has no such job.

        Raises:
            UsageError: The cluster rejects the request.
            PlatformError: The cluster does not respond.
        """
        try:
            return JobView.of(self._client.ask("GET", f"/job-info/{quote(job_id, safe='')}"))
        except StoredValueError as error:
            raise PlatformError(
                f"the response about the job {job_id} did not come from a cluster node: {error}"
            ) from error

    def take(self, submission: Submission) -> Taken:
        """Submit a job, unless a job with the same ID is running or has finished.

        A running job is not changed. A job that failed or was stopped is submitted again and resumes from its latest
        checkpoint; if it is still stopping, the method first waits. The result is durable when this returns.

        Raises:
            UsageError: The cluster rejects the job, for example because another job with its ID is active.
            PlatformError: The cluster has not responded for ``patience_s``.
        """
        refused: UsageError | None = None
        self.warnings = ()
        for _ in range(_MOST_TURNS):
            found = self._settled(submission.job_id)
            if found.state == "FINISHED":
                return Taken.FINISHED
            is_active = bool(found.state) and not found.has_ended
            try:
                self._submit(submission, restore=found.has_ended)  # the cluster compares it with an active job
            except JobStoppingError:
                continue  # wait again: its stop was requested in the meantime
            except UsageError as error:
                if refused is not None:
                    raise
                refused = error  # retry: the job may have started and ended in the meantime
            else:
                return Taken.FOLLOWED if is_active else Taken.RESTORED if found.has_ended else Taken.SUBMITTED
        raise refused or UsageError(f"the job {submission.job_id} ends each time it is submitted")

    def _settled(self, job_id: str) -> JobView:
        """Return the state of a job; wait until it has stopped if it is stopping."""
        while (found := self._patiently(lambda: self.view(job_id))).state in _STOPPING:
            self._sleep(_AGAIN_S)
        return found

    def _submit(self, submission: Submission, *, restore: bool) -> None:
        query = {"jobId": submission.job_id, "isStartWithSavePoint": str(restore).lower()}
        if submission.name:
            query["jobName"] = submission.name
        if submission.variables or submission.file:
            body, kind = _form(submission)
            target = f"/submit-job/upload?{urlencode(query)}"
        else:
            body, kind = submission.text.encode(), "text/plain; charset=utf-8"
            target = f"/submit-job?{urlencode({**query, 'format': submission.format})}"

        def submitted() -> Any:
            return self._client.accepted(self._client.exchange("POST", target, body, kind))

        answer = self._patiently(submitted)
        found = answer.get("warnings") if isinstance(answer, Mapping) else None
        self.warnings = tuple(map(str, found)) if isinstance(found, list) else ()

    def cancel(self, job_id: str) -> None:
        """Request that a job stop after a final checkpoint; no effect if it is not running.

        Raises:
            UsageError: The cluster rejects the request.
            PlatformError: The cluster has not responded for ``patience_s``.
        """
        self._patiently(lambda: self._client.ask("POST", "/stop-job", {"jobId": job_id}))

    def _patiently(self, ask: Callable[[], Value]) -> Value:
        until = time.monotonic() + self.patience_s
        while True:
            try:
                return ask()
            except JobStoppingError:
                raise  # it may take longer than the cluster may be silent
            except PlatformError:
                if time.monotonic() > until:
                    raise
            self._sleep(_AGAIN_S)


def _form(submission: Submission) -> tuple[bytes, str]:
    """Return a submission as a form, and its content type. Proxies would log variables in a query string."""
    endings = {"json": ".json", "yaml": ".yaml", "sql": ".sql"}
    file = PurePath(submission.file or "job").name.translate(_NOT_IN_HEADERS)
    if format_of(file) != submission.format or not PurePath(file).suffix:
        file += endings.get(submission.format, ".conf")
    parts = (
        ('name="variables"', "application/json", json.dumps(dict(submission.variables))),
        (
            f'name="config_file"; filename="{file}"',
            "text/plain; charset=utf-8",
            submission.text,
        ),
    )
    boundary = secrets.token_hex(16)
    written = "".join(
        f"--{boundary}\r\ncontent-disposition: form-data; {which}\r\ncontent-type: {kind}\r\n\r\n{content}\r\n"
        for which, kind, content in parts
    )
    return f"{written}--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Following:
    """Poller that follows a job until it ends, and tolerates node failures.

    If only row counts change, ``news`` returns a line every ``news_s`` seconds.
    """

    def __init__(self, jobs: ClusterJobs, job_id: str, *, news_s: float = 10.0) -> None:
        self._jobs = jobs
        self._news_s = news_s
        self._heard_at = time.monotonic()
        self._told = ""
        self._told_at = 0.0
        self._checkpoint: int | None = None
        self.view = JobView(job_id=job_id, state="")
        """State of the job in the last response of the cluster."""

    def refresh(self) -> JobView:
        """Return the current state of the job or, while the cluster does not respond, its last known state.

        Raises:
            UsageError: The job no longer exists in the cluster, or the cluster rejects the request.
            PlatformError: The cluster has not responded for ``patience_s`` of ``jobs``.
        """
        try:
            found = self._jobs.view(self.view.job_id)
        except PlatformError:
            if time.monotonic() - self._heard_at > self._jobs.patience_s:
                raise
            return self.view
        if not found.state:
            raise UsageError(f"job {found.job_id} no longer exists in the cluster, so its result is unknown")
        self._heard_at = time.monotonic()
        self._checkpoint = found.checkpoint if found.checkpoint is not None else self._checkpoint
        self.view = evolve(found, checkpoint=self._checkpoint)
        return self.view

    def news(self) -> str:
        """Return a line with the state if it has changed or the next line is due, else ``""``."""
        line, now = self.view.line(), time.monotonic()
        state_is_told = bool(self._told) and self._told.partition(":")[0] == self.view.state
        if not self.view.state or line == self._told or (state_is_told and now - self._told_at < self._news_s):
            return ""
        self._told, self._told_at = line, now
        return line
