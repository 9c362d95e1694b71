"""Jobs of a cluster for programs that start one and wait for its end, and may be killed meanwhile: orchestrators.

Such a program gives a job a reproducible ID. After a restart it calls ``take`` with that ID, which does what remains.
So a job is submitted once, whatever fails in between: the program, the node or the leader. Only the standard library
and ``attrs`` are imported here, to keep imports cheap in other programs.
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
from seatunnel_core.control.node_client import NodeClient
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError

Value = TypeVar("Value")

PATIENCE_S = 60.0
"""So long a cluster may be without an answer or a leader before that is an error: longer than an election takes."""

POLL_S = 1.0
_AGAIN_S = 0.5
_MOST_TURNS = 5

_FORMATS = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".sql": "sql"}
_STOPPING = frozenset({"CANCELING", "DOING_SAVEPOINT"})
_LONGEST_ID = 128
_NOT_IN_HEADERS = {**dict.fromkeys(range(32)), ord('"'): "_", ord("\\"): "_"}


def format_of(name: str) -> str:
    """Return the format of a job by its file name; HOCON, a superset of JSON, for an unknown extension."""
    return _FORMATS.get(PurePath(name).suffix.lower(), "hocon")


def stable_job_id(*parts: str) -> str:
    """Return a job id that is the same whenever the parts are, and another one for any others."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts))[: _LONGEST_ID - 17].strip("-.")
    return f"{readable}-{digest}" if readable else digest


@frozen(kw_only=True)
class Submission:
    """A job as it is to be submitted."""

    job_id: str
    text: str = field(repr=False)
    """The job; may hold secrets."""

    format: str = "hocon"
    """``hocon``, ``json``, ``yaml`` or ``sql``."""

    variables: Mapping[str, str] = field(factory=dict, repr=False)
    """Values for ``${…}`` in the text; may hold secrets."""

    name: str = ""
    """Instead of the name that the job gives itself; empty: that one."""

    file: str = field(default="", repr=False)
    """The name of the job's file, for messages; empty when it has none."""


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@frozen(kw_only=True)
class JobView:
    """State of a job, as a node returned it."""

    job_id: str
    state: str
    """By SeaTunnel's names; empty when the cluster does not know the job."""

    name: str = ""
    error: str = ""
    """Why it failed."""

    waits_for: str = ""
    """Reason why a job waits for a worker process."""

    rows_read: int | None = None
    rows_written: int | None = None
    rows_committed: int | None = None
    checkpoint: int | None = None
    """Highest ID of a completed checkpoint of its pipelines; ``None`` if there is none or it is unknown."""

    created: str = ""
    """Time of submission, ``yyyy-MM-dd HH:mm:ss`` in the node's time zone."""

    finished: str = ""
    """Time of its end, in the same format; empty before."""

    warnings: tuple[str, ...] = field(default=(), converter=_texts)
    """Warnings about rows and files, found while it ran."""

    @classmethod
    def of(cls, block: Any) -> "JobView":
        """Return the job of an answer to ``/job-info``.

        Raises:
            StoredValueError: the response is invalid.
        """
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
        """True if it has ended."""
        return bool(self.finished)

    @property
    def duration_s(self) -> int | None:
        """From its submission to its end, in seconds; ``None`` before that, or when a time cannot be read."""
        try:
            return int((_moment(self.finished) - _moment(self.created)).total_seconds())
        except ValueError:
            return None

    def figures(self) -> dict[str, Any]:
        """Return what is known of it, by name, as JSON values."""
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
        """Return its state in a few words."""
        counts = ((self.rows_read, "read"), (self.rows_written, "written"), (self.rows_committed, "committed"))
        known = ((count, done) for count, done in counts if count is not None)
        rows = ", ".join(f"{count} row{'' if count == 1 else 's'} {done}" for count, done in known)
        return ": ".join(filter(None, (self.state, self.waits_for or rows)))

    def failure(self) -> str:
        """Return why a job that has ended is not done; empty when it is."""
        how = {
            "FINISHED": "",
            "FAILED": f"failed: {self.error or 'its node says no reason; the log of the job does'}",
            "CANCELED": "was cancelled",
            "SAVEPOINT_DONE": "was stopped with a savepoint",
        }.get(self.state, f"ended as {self.state}")
        return f"the job {self.job_id} {how}" if how else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON value, for ``JobView(**value)`` elsewhere."""
        return asdict(self)


def warnings_of_job(block: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the warnings of an answer to ``/job-info``, with the pipeline of each where there are several."""
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
    """Result of ``take``."""

    SUBMITTED = "is submitted"
    """The cluster did not know it."""

    FOLLOWED = "exists already, and is followed"
    RESTORED = "had ended before it was done, and resumes from its last checkpoint"
    FINISHED = "has finished already"


class ClusterJobs:
    """The jobs of a cluster.

    Args:
        client: asks the cluster by REST.
        patience_s: for so long a cluster that gives no answer, or has no leader, is asked again.
        sleep: waits for some seconds.
    """

    def __init__(
        self, client: NodeClient, *, patience_s: float = PATIENCE_S, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.patience_s = patience_s
        self.warnings: tuple[str, ...] = ()
        """Warnings about the job that ``take`` submitted last."""

        self._client = client
        self._sleep = sleep

    def view(self, job_id: str) -> JobView:
        """Return how a job stands; one with an empty state when the cluster does not know it.

        Raises:
            UsageError: the cluster refuses to say it.
            PlatformError: it does not answer.
        """
        try:
            return JobView.of(self._client.ask("GET", f"/job-info/{quote(job_id, safe='')}"))
        except StoredValueError as error:
            raise PlatformError(f"the answer about the job {job_id} is no node's: {error}") from error

    def take(self, submission: Submission) -> Taken:
        """Ensure that a job runs or has finished; it may have been submitted before under the same ID.

        A running job is left alone, if it is the same job. A failed or stopped one is submitted again and resumes from
        its last checkpoint. While a job is stopping, wait for it and then resume it. The result is durable when this
        returns.

        Raises:
            UsageError: the cluster refuses the job, and why: another one is active under its id, say.
            PlatformError: it has not answered for ``patience_s``.
        """
        refused: UsageError | None = None
        self.warnings = ()
        for _ in range(_MOST_TURNS):
            found = self._settled(submission.job_id)
            if found.state == "FINISHED":
                return Taken.FINISHED
            is_active = bool(found.state) and not found.has_ended
            try:
                self._submit(submission, restore=found.has_ended)  # of an active job: the cluster compares them
            except UsageError as error:
                if refused is not None:
                    raise
                refused = error  # unless it has come and ended between the question and this
            else:
                return Taken.FOLLOWED if is_active else Taken.RESTORED if found.has_ended else Taken.SUBMITTED
        raise refused or UsageError(f"the job {submission.job_id} ends as often as it is submitted")

    def _settled(self, job_id: str) -> JobView:
        """Return how a job stands that is not just being stopped."""
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
        """Have a job cancelled, after a last checkpoint; one that does not run stays as it is.

        Raises:
            UsageError: the cluster refuses it.
            PlatformError: it has not answered for ``patience_s``.
        """
        self._patiently(lambda: self._client.ask("POST", "/stop-job", {"jobId": job_id}))

    def _patiently(self, ask: Callable[[], Value]) -> Value:
        until = time.monotonic() + self.patience_s
        while True:
            try:
                return ask()
            except PlatformError:
                if time.monotonic() > until:
                    raise
            self._sleep(_AGAIN_S)


def _form(submission: Submission) -> tuple[bytes, str]:
    """Return a submission with variables as a form, and its content type: in a query, proxies would log them."""
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
    """A job that is followed to its end. Nodes that die meanwhile are no reason to give up.

    Args:
        jobs: of the cluster.
        job_id: of the job, which the cluster knows.
        news_s: how a job stands is worth a line when its state changes, and once in so long when its rows do.
    """

    def __init__(self, jobs: ClusterJobs, job_id: str, *, news_s: float = 10.0) -> None:
        self._jobs = jobs
        self._news_s = news_s
        self._heard_at = time.monotonic()
        self._told = ""
        self._told_at = 0.0
        self._checkpoint: int | None = None
        self.view = JobView(job_id=job_id, state="")
        """Its state in the last response of the cluster."""

    def look(self) -> JobView:
        """Return how the job stands, or how it stood while the cluster does not answer.

        Raises:
            UsageError: the cluster knows no such job any more, or refuses to say.
            PlatformError: it has not answered for the patience of ``jobs``.
        """
        try:
            found = self._jobs.view(self.view.job_id)
        except PlatformError:
            if time.monotonic() - self._heard_at > self._jobs.patience_s:
                raise
            return self.view
        if not found.state:
            raise UsageError(f"the cluster knows no job {found.job_id} any more, so its result is unknown")
        self._heard_at = time.monotonic()
        self._checkpoint = found.checkpoint if found.checkpoint is not None else self._checkpoint
        self.view = evolve(found, checkpoint=self._checkpoint)
        return self.view

    def news(self) -> str:
        """Return a line that says how it stands; empty when there is nothing new worth one."""
        line, now = self.view.line(), time.monotonic()
        state_is_told = bool(self._told) and self._told.partition(":")[0] == self.view.state
        if not self.view.state or line == self._told or (state_is_told and now - self._told_at < self._news_s):
            return ""
        self._told, self._told_at = line, now
        return line
