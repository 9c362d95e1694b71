"""The cluster's state on the leader: jobs by ID, and the bounded history of ended jobs."""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.state.records import HISTORY_PREFIX, JOB_PREFIX, EndedJob, JobRecord, JobState
from seatunnel_core.server.state.sealing import PLAIN, Seal, opened
from seatunnel_core.server.state.store import Lease
from seatunnel_storage_api.errors import CheckpointCorruptedError

logger = logging.getLogger("seatunnel.cluster")

MOST_HISTORY = 10_000
"""Maximum number of ended jobs in the history. The oldest are removed first."""

SEALED = "sealed"
"""Key of an entry that exists while records are encrypted. Earlier versions ignore it."""

_KEYS_SHOWN = 5


@frozen(kw_only=True)
class Snapshot:
    """Consistent copy of all records."""

    jobs: Mapping[str, JobRecord]
    history: Mapping[str, EndedJob]
    problems: Mapping[str, str] = field(factory=dict)
    """Errors for entries with unreadable values, by entry key. Unreadable values are kept unchanged."""

    key_ids: Mapping[str, str] = field(factory=dict)
    """IDs of the keys with which readable values are encrypted, by entry key."""


@frozen
class History:
    """Ended jobs by state, in the order in which they ended."""

    all: tuple[EndedJob, ...]
    _by_state: Mapping[JobState, tuple[EndedJob, ...]]

    @classmethod
    def of(cls, jobs: Iterable[EndedJob]) -> "History":
        """Return the history of the given ended jobs."""
        ordered = tuple(sorted(jobs, key=lambda job: (job.ended_at, job.job_id)))
        by_state: dict[JobState, list[EndedJob]] = {}
        for job in ordered:
            by_state.setdefault(job.state, []).append(job)
        return cls(ordered, {state: tuple(found) for state, found in by_state.items()})

    def ended_as(self, state: str) -> tuple[EndedJob, ...]:
        """Return the jobs that ended in a state, ignoring case; all jobs for an empty state."""
        if not state:
            return self.all
        found = JobState.__members__.get(state.upper())
        return () if found is None else self._by_state.get(found, ())


def decode(entries: Mapping[str, bytes], seal: Seal | None = None) -> Snapshot:
    """Return the decoded entries; unreadable ones are reported as problems."""
    jobs: dict[str, JobRecord] = {}
    history: dict[str, EndedJob] = {}
    problems: dict[str, str] = {}
    key_ids: dict[str, str] = {}
    for key in entries:
        if not key.startswith((JOB_PREFIX, HISTORY_PREFIX)):
            continue
        try:
            body, key_ids[key] = opened(seal, key, entries[key])
            if key.startswith(JOB_PREFIX):
                record = JobRecord.from_bytes(body)
                jobs[record.job_id] = record
            else:
                ended = EndedJob.from_bytes(body)
                history[ended.job_id] = ended
        except (StoredValueError, CheckpointCorruptedError, ValueError) as error:
            key_ids.pop(key, None)
            problems[key] = str(error)
    return Snapshot(jobs=jobs, history=history, problems=problems, key_ids=key_ids)


class ClusterState:
    """The cluster's state on the leader. A change becomes visible only when it is durable.

    Thread-safe; changes are made one at a time. They raise ``DeposedError`` or ``StateUnavailableError`` if they are
    not acknowledged. Ended jobs are kept for ``expire_s`` seconds, at most ``most_history`` of them.
    """

    def __init__(
        self, lease: Lease, *, expire_s: float, most_history: int = MOST_HISTORY, seal: Seal | None = None
    ) -> None:
        self._lease = lease
        self._expire_s = expire_s
        self._most_history = most_history
        self._changing = threading.Lock()
        """Lock held while a change is made, until the storage has acknowledged it. This may take a long time."""

        self._showing = threading.Lock()
        """Lock of the visible values. It is only held briefly, so an event loop may wait for it."""

        found = decode(lease.entries, seal)
        self._seal = seal
        self._seals = seal is not None and SEALED in lease.entries
        self._key_ids = dict(found.key_ids)
        """IDs of the keys with which records are encrypted, by entry key."""

        self._jobs = dict(found.jobs)
        self._history = dict(found.history)
        self._ordered: History | None = None
        """Cached history; ``None`` if it has changed since the last call."""

        self._problems = found.problems

    @property
    def term(self) -> int:
        """Term of the leader."""
        return self._lease.term

    def snapshot(self) -> Snapshot:
        """Return a copy of all records, except for changes that are not durable yet."""
        with self._showing:
            return Snapshot(jobs=dict(self._jobs), history=dict(self._history), problems=self._problems)

    @property
    def seals(self) -> bool:
        """True if records are encrypted when they are written."""
        return self._seals

    def problem(self, job_id: str) -> str:
        """Return the reason why a job's record cannot be read; empty if it can be read or does not exist."""
        return self._problems.get(JOB_PREFIX + job_id) or self._problems.get(HISTORY_PREFIX + job_id, "")

    def log_problems(self) -> None:
        """Log the unreadable entries, once for each reason."""
        by_reason: dict[str, list[str]] = {}
        for key, reason in self._problems.items():
            by_reason.setdefault(reason, []).append(key)
        for reason, keys in by_reason.items():
            shown = ", ".join(keys[:_KEYS_SHOWN]) + (", …" if len(keys) > _KEYS_SHOWN else "")
            logger.error(
                "cannot read %d entries of the cluster's state, which are kept unchanged (%s): %s",
                len(keys),
                shown,
                reason,
            )

    def protect(self, *, seals: bool) -> None:
        """Switch encryption of new records on or off; later leaders keep this setting."""
        with self._changing:
            if self._seal is not None and seals != self._seals:
                self._lease.commit({SEALED: self._seal.key_id.encode() if seals else None})
                self._seals = seals

    def rewrite(self, most: int) -> int:
        """Rewrite up to ``most`` records that are not encrypted as configured now. Return their number."""
        with self._changing:
            wanted = self._key_id()
            records: list[JobRecord | EndedJob] = [*self._jobs.values(), *self._history.values()]
            stale = [each for each in records if self._key_ids.get(each.key, PLAIN) != wanted][:most]
            if stale:
                self._commit({each.key: each.to_bytes() for each in stale})
            return len(stale)

    def _key_id(self) -> str:
        return self._seal.key_id if self._seal is not None and self._seals else PLAIN

    def _commit(self, changes: Mapping[str, bytes | None]) -> None:
        """Store changes of records durably, encrypted if encryption is on."""
        seal, key_id = self._seal if self._seals else None, self._key_id()
        self._lease.commit(
            {key: body if body is None or seal is None else seal.close(key, body) for key, body in changes.items()}
        )
        for key, body in changes.items():
            if body is None:
                self._key_ids.pop(key, None)
            else:
                self._key_ids[key] = key_id

    def history(self) -> History:
        """Return the ended jobs. The result is cached until another job ends."""
        with self._showing:
            if self._ordered is None:
                self._ordered = History.of(self._history.values())
            return self._ordered

    def running(self) -> list[JobRecord]:
        """Return the jobs that have not ended, in submission order."""
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
        """Store a job's record, and remove the job from the history."""
        with self._changing:
            changes: dict[str, bytes | None] = {record.key: record.to_bytes()}
            before = self._history.get(record.job_id)
            if before is not None:
                changes[before.key] = None
            self._commit(changes)
            with self._showing:
                self._jobs[record.job_id] = record
                if self._history.pop(record.job_id, None) is not None:
                    self._ordered = None

    def update(self, records: Sequence[JobRecord]) -> None:
        """Store changed records of active jobs, except desired states, which users may have changed."""
        with self._changing:
            merged = [
                evolve(record, wanted=self._jobs[record.job_id].wanted)
                for record in records
                if record.job_id in self._jobs
            ]
            self._commit({record.key: record.to_bytes() for record in merged})
            with self._showing:
                self._jobs.update({record.job_id: record for record in merged})

    def end(self, ended: EndedJob) -> None:
        """Move a job to the history and remove expired entries in one atomic change."""
        with self._changing:
            changes: dict[str, bytes | None] = {ended.key: ended.to_bytes(), JOB_PREFIX + ended.job_id: None}
            after = {**self._history, ended.job_id: ended}
            gone = list(_expired(after.values(), ended.ended_at - self._expire_s, self._most_history))
            changes.update(dict.fromkeys((each.key for each in gone if each.job_id != ended.job_id), None))
            self._commit(changes)
            with self._showing:
                self._jobs.pop(ended.job_id, None)
                self._history[ended.job_id] = ended
                self._ordered = None
                self._drop(gone, but=ended.job_id)

    def expire(self, now: float) -> int:
        """Remove ended jobs that have expired by ``now``, in seconds since 1970. Return their number."""
        with self._changing:
            gone = list(_expired(self._history.values(), now - self._expire_s, self._most_history))
            if gone:
                self._commit(dict.fromkeys((each.key for each in gone), None))
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
