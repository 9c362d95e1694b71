"""The cluster's state in the hands of its leader: jobs by id, the history behind them, and its bounds."""

import threading
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.state.records import HISTORY_PREFIX, JOB_PREFIX, EndedJob, JobRecord, JobState
from seatunnel_core.server.state.store import Tenure

MOST_HISTORY = 10_000
"""So many ended jobs are kept at most; the oldest are forgotten first."""


@frozen(kw_only=True)
class Snapshot:
    """All that is recorded, as of one moment."""

    jobs: Mapping[str, JobRecord]
    history: Mapping[str, EndedJob]
    unreadable: tuple[str, ...] = ()
    """Keys whose values no reader understands; they are kept as they are."""


@frozen
class History:
    """The ended jobs as readers want them: by state, the one that ended first first."""

    all: tuple[EndedJob, ...]
    _by_state: Mapping[JobState, tuple[EndedJob, ...]]

    @classmethod
    def of(cls, jobs: Iterable[EndedJob]) -> "History":
        """Return the history of some ended jobs."""
        ordered = tuple(sorted(jobs, key=lambda job: (job.ended_at, job.job_id)))
        by_state: dict[JobState, list[EndedJob]] = {}
        for job in ordered:
            by_state.setdefault(job.state, []).append(job)
        return cls(ordered, {state: tuple(found) for state, found in by_state.items()})

    def ended_as(self, state: str) -> tuple[EndedJob, ...]:
        """Return those that ended in a state, however its name is written; all of them for an empty one."""
        if not state:
            return self.all
        found = JobState.__members__.get(state.upper())
        return () if found is None else self._by_state.get(found, ())


def decode(entries: Mapping[str, bytes]) -> Snapshot:
    """Return the jobs and the history of raw entries. One value that cannot be read hides no other one."""
    jobs: dict[str, JobRecord] = {}
    history: dict[str, EndedJob] = {}
    unreadable: list[str] = []
    for key, body in entries.items():
        try:
            if key.startswith(JOB_PREFIX):
                record = JobRecord.from_bytes(body)
                jobs[record.job_id] = record
            elif key.startswith(HISTORY_PREFIX):
                ended = EndedJob.from_bytes(body)
                history[ended.job_id] = ended
        except (StoredValueError, ValueError):
            unreadable.append(key)
    return Snapshot(jobs=jobs, history=history, unreadable=tuple(unreadable))


class ClusterState:
    """The leader's view of the state. Each change is durable before it is visible here.

    May be called from any thread; changes are made one at a time.

    Args:
        tenure: the claim by which this node leads.
        expire_s: for so long an ended job stays in the history.
        most_history: so many ended jobs are kept at most.
    """

    def __init__(self, tenure: Tenure, *, expire_s: float, most_history: int = MOST_HISTORY) -> None:
        self._tenure = tenure
        self._expire_s = expire_s
        self._most_history = most_history
        self._changing = threading.Lock()
        """Held during a change, which may take as long as the storage does."""

        self._showing = threading.Lock()
        """Held while what is shown becomes another: never for long, so that an event loop may wait for it."""

        found = decode(tenure.entries)
        self._jobs = dict(found.jobs)
        self._history = dict(found.history)
        self._ordered: History | None = None
        """The history as it is shown; ``None`` when it has changed since that was asked for."""

        self.unreadable = found.unreadable

    @property
    def term(self) -> int:
        """The term of the leader."""
        return self._tenure.term

    def snapshot(self) -> Snapshot:
        """Return a copy of what is recorded now; a change that is under way holds it up in no way."""
        with self._showing:
            return Snapshot(jobs=dict(self._jobs), history=dict(self._history), unreadable=self.unreadable)

    def history(self) -> History:
        """Return the ended jobs. Many readers share one value: it is made anew only when a job has ended meanwhile."""
        with self._showing:
            if self._ordered is None:
                self._ordered = History.of(self._history.values())
            return self._ordered

    def running(self) -> list[JobRecord]:
        """Return the jobs that have not ended, in the order in which they were submitted."""
        with self._showing:
            jobs = list(self._jobs.values())
        return sorted(jobs, key=lambda job: (job.submitted_at, job.job_id))

    def job(self, job_id: str) -> JobRecord | None:
        """Return the record of a job that has not ended, or ``None``."""
        return self._jobs.get(job_id)

    def ended(self, job_id: str) -> EndedJob | None:
        """Return the record of a job that has ended, or ``None``."""
        return self._history.get(job_id)

    def put(self, record: JobRecord) -> None:
        """Store a job's record. The job leaves the history if it stands there.

        Raises:
            DeposedError, StateUnavailableError: it is not acknowledged.
        """
        with self._changing:
            changes: dict[str, bytes | None] = {record.key: record.to_bytes()}
            before = self._history.get(record.job_id)
            if before is not None:
                changes[before.key] = None
            self._tenure.commit(changes)
            with self._showing:
                self._jobs[record.job_id] = record
                if self._history.pop(record.job_id, None) is not None:
                    self._ordered = None

    def update(self, records: Sequence[JobRecord]) -> None:
        """Store what was decided of some jobs, in one step; what users want of them stays as it stands by now.

        A job that has ended meanwhile is left out.

        Raises:
            DeposedError, StateUnavailableError: it is not acknowledged.
        """
        with self._changing:
            merged = [
                evolve(record, wanted=self._jobs[record.job_id].wanted)
                for record in records
                if record.job_id in self._jobs
            ]
            self._tenure.commit({record.key: record.to_bytes() for record in merged})
            with self._showing:
                self._jobs.update({record.job_id: record for record in merged})

    def end(self, ended: EndedJob) -> None:
        """Move a job to the history, in one step, and forget what the history may not keep any longer.

        Raises:
            DeposedError, StateUnavailableError: it is not acknowledged.
        """
        with self._changing:
            changes: dict[str, bytes | None] = {ended.key: ended.to_bytes(), JOB_PREFIX + ended.job_id: None}
            after = {**self._history, ended.job_id: ended}
            gone = list(_expired(after.values(), ended.ended_at - self._expire_s, self._most_history))
            changes.update(dict.fromkeys((each.key for each in gone if each.job_id != ended.job_id), None))
            self._tenure.commit(changes)
            with self._showing:
                self._jobs.pop(ended.job_id, None)
                self._history[ended.job_id] = ended
                self._ordered = None
                self._drop(gone, but=ended.job_id)

    def expire(self, now: float) -> int:
        """Forget ended jobs that are older than allowed at ``now``, seconds since 1970, and return how many.

        Raises:
            DeposedError, StateUnavailableError: it is not acknowledged.
        """
        with self._changing:
            gone = list(_expired(self._history.values(), now - self._expire_s, self._most_history))
            if gone:
                self._tenure.commit(dict.fromkeys((each.key for each in gone), None))
                with self._showing:
                    self._drop(gone, but="")
            return len(gone)

    def _drop(self, gone: Iterable[EndedJob], *, but: str) -> None:
        self._ordered = None
        for each in gone:
            if each.job_id != but:
                self._history.pop(each.job_id, None)


def _expired(history: Iterable[EndedJob], before: float, most: int) -> Iterable[EndedJob]:
    newest_first = sorted(history, key=lambda each: each.ended_at, reverse=True)
    return [each for number, each in enumerate(newest_first) if number >= most or each.ended_at < before]
