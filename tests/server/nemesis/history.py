"""What clients asked and were told: a line for each call, in a file that is read when the play is over."""

import json
import threading
import time
from pathlib import Path
from typing import Any

from attrs import asdict, define, field, frozen


@frozen(kw_only=True)
class Call:
    """One call of a client. Times are monotonic seconds."""

    job_id: str
    what: str
    """``submit``, ``resume``, ``cancel``, ``savepoint`` or ``look``."""

    began: float
    ended: float
    status: int
    """Of HTTP; 0 when no answer came."""

    said: str
    """The job's state, or why no answer came."""

    error: str = ""
    """Why the job failed, of an answer to ``look``."""

    @property
    def acknowledged(self) -> bool:
        """Whether the cluster has promised it."""
        return self.status == 200


@define(eq=False)
class History:
    """The calls of all clients, in the order of their answers."""

    path: Path
    calls: list[Call] = field(factory=list)
    _writing: threading.Lock = field(factory=threading.Lock)

    def note(self, call: Call) -> Call:
        """Keep a call."""
        with self._writing, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(call)) + "\n")
            self.calls.append(call)
        return call

    def of(self, job_id: str, *what: str) -> list[Call]:
        """Return the calls about a job, of some kinds."""
        with self._writing:
            return [call for call in self.calls if call.job_id == job_id and call.what in what]


def answered(job: dict[str, Any]) -> tuple[str, str]:
    """Return the state and the error of a job as a node describes it; an unknown job has no state."""
    return str(job.get("jobStatus", "")), str(job.get("errorMsg", "") or "")


def now() -> float:
    """Return the monotonic time, in seconds."""
    return time.monotonic()
