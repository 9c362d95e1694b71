"""Cursors of incremental jobs: one record per state name, stored with the checkpoints.

Like a manifest, each version of a record is stored once, and a second writer is rejected. The record contains the ID of
the latest job, and the cursors before that job. The manifest of the job contains the windows to read. The cursors move
only after a manifest records the end of the job, so they are never ahead of the published rows.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial

from attrs import evolve

from seatunnel_core.config.engine import EngineConfig, override_storage
from seatunnel_core.config.env import JOB_NAME, STATE_NAME
from seatunnel_core.config.job_file import Kind, RawJob
from seatunnel_core.config.problem import Problems
from seatunnel_core.connector_api.increments import INCREMENTAL, Incremental, reads_in_increments
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.job.binding import differences
from seatunnel_core.job.increment_state import PREFIX, IncrementState, record_id
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.spark.failure import retried
from seatunnel_core.work.window import Window
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import CheckpointStorageError, ManifestConflictError
from seatunnel_storage_api.storage import CheckpointStorage

_log = logging.getLogger("seatunnel.job")

KEPT = 5
"""Number of record versions kept for inspection; only the newest is used."""


# -- records in a storage


def load(storage: CheckpointStorage, name: str) -> IncrementState:
    """Return the newest version of a record, or an empty record with version 0 if none exists."""
    found = storage.get_manifest(record_id(name))
    return IncrementState(name=name) if found is None else IncrementState.from_bytes(found.body, found.version)


def put(storage: CheckpointStorage, state: IncrementState) -> None:
    """Store the next version of a record, and remove old versions.

    A process that was suspended for a long time might store a version that has since been removed. Therefore, a version
    is valid only if it is the newest one after it was stored.

    Raises:
        ManifestConflictError: Another process has stored a version since ``state`` was loaded.
    """
    record, version = record_id(state.name), state.version + 1
    storage.put_manifest(record, version, state.to_bytes())
    newest = storage.get_manifest(record)
    if newest is None or newest.version != version:
        raise ManifestConflictError(f"version {version} of the state {state.name!r} is no longer the newest version")
    try:
        storage.delete_manifests(record, below=version - KEPT + 1)
    except CheckpointStorageError as error:
        _log.warning("old versions of the state %s are kept until the next job: %s", state.name, error)


def all_states(storage: CheckpointStorage) -> Iterator[IncrementState]:
    """Yield the records of a storage, sorted by ID."""
    for each in storage.list_jobs():
        found = storage.get_manifest(each) if each.startswith(PREFIX) else None
        if found is not None:
            yield IncrementState.from_bytes(found.body, found.version)


def unfinished_job(storage: CheckpointStorage, state: IncrementState) -> str | None:
    """Return the ID of the latest job if it has unpublished rows; raise ``UsageError`` if the job was removed."""
    return None if acknowledged(storage, state) is not None else state.job_id


def acknowledged(storage: CheckpointStorage, state: IncrementState) -> IncrementState | None:
    """Return the state with the cursors after the latest job, or ``None`` if that job has not ended."""
    if state.is_done or state.job_id is None:
        return state
    found = storage.get_manifest(state.job_id)
    if found is None:
        raise UsageError(
            f"the job {state.job_id}, the last job that used the state {state.name!r}, was removed from the storage "
            "before its end was recorded, so it is unknown which rows it has written. Compare the target with the "
            "source, and "
            f"run seatunnel state set {state.name} SOURCE VALUE, or seatunnel state reset {state.name} to start over"
        )
    manifest = Manifest.from_bytes(found.body)
    return None if manifest.ended is None else state.after(manifest.windows)


def note_end(storage: CheckpointStorage, job_id: str) -> None:
    """Record the cursors of a job that has ended. If this fails, the job's manifest still contains them."""
    try:
        found = storage.get_manifest(job_id)
        manifest = None if found is None else Manifest.from_bytes(found.body)
        if manifest is None or not manifest.windows:
            return
        state = load(storage, manifest.state_name)
        now = acknowledged(storage, state)
        if state.job_id == job_id and not state.is_done and now is not None:
            put(storage, now)
    except (SeaTunnelError, CheckpointStorageError) as error:
        _log.warning(
            ("the end of the job %s could not be recorded; the next job with that name will record it: %s"),
            job_id,
            error,
        )


# -- jobs


def state_name(raw: RawJob, name: str | None) -> str:
    """Return ``name``, or the state name in the job file; raise an error if the job has no name."""
    own = raw.env[JOB_NAME] if raw.env.is_set(JOB_NAME) else None
    found = raw.env[STATE_NAME] or name or own
    if not found:
        raise UsageError(
            "a source sets the option incremental, but the job has no name under which its position can be stored: "
            "set job.name in env"
        )
    return str(found)


def job_to_go_on_with(raw: RawJob, engine: EngineConfig, name: str | None) -> str | None:
    """Return the ID of the unfinished incremental job with the same name; ``None`` if none exists.

    A new start resumes that job, because its increment is fixed and may already be partly written.
    """
    sources = (block.block for block in raw.blocks if block.kind is Kind.SOURCE)
    if not any(entry.key == INCREMENTAL.key for source in sources for entry in source):
        return None
    config = override_storage(engine, raw.storage, Problems())
    with open_storage(config.type, config.effective) as storage:
        return unfinished_job(storage, load(storage, state_name(raw, name)))


class IncrementalRun:
    """Increments that one run of a job reads. The methods do nothing for a job without increments."""

    def __init__(self, storage: CheckpointStorage, job_id: str, raw: RawJob, name: str | None) -> None:
        self._storage = storage
        self._job_id = job_id
        self._raw = raw
        self._name = name
        self._state: IncrementState | None = None
        self.notes: tuple[str, ...] = ()
        """One sentence for each source."""

    def planned(self, job: PlannedJob, stored_job: Manifest | None) -> PlannedJob:
        """Return the job with windows set for its sources; ``stored_job`` is its manifest if it is resumed."""
        sources = _incremental(job)
        if stored_job is not None:
            return self._again(job, sources, stored_job)
        if not sources:
            return job
        name = state_name(self._raw, self._name)
        state = load(self._storage, name)
        now = acknowledged(self._storage, state)
        if now is None:
            raise UsageError(_unfinished(state))
        self._state = now
        windows = {}
        for source, reader in sources.items():
            cursor = now.cursor_of(source, reader.reads())
            windows[source] = retried(partial(reader.window, cursor))
            reader.read_window(windows[source])
        self.notes = tuple(_note(source, each) for source, each in windows.items())
        return evolve(job, manifest=evolve(job.manifest, windows=windows, state_name=name))

    def _again(self, job: PlannedJob, sources: Mapping[str, Incremental], stored_job: Manifest) -> PlannedJob:
        windows = stored_job.windows
        present = {*job.vertices}
        others = sorted({*sources} ^ ({*windows} & present))
        if others:
            raise UsageError(
                f"the source {others[0]!r} is incremental in the job file or in the stored job, but not in both. "
                "Undo that change, or run the job as a new one, without -r"
            )
        if not windows:
            return job
        state = load(self._storage, stored_job.state_name)
        if state.job_id != self._job_id:
            raise UsageError(
                f"the job {self._job_id} is not the last job that used the state {state.name!r} "
                f"({state.job_id or 'it was reset'}): other jobs may have read the same rows since then. Run the "
                "job without -r"
            )
        if stored_job.ended is None:
            for source, reader in sources.items():
                changed = differences(windows[source].reads, reader.reads())
                if changed:
                    raise UsageError(
                        f"the source {source!r} reads different data than when the job started: its "
                        f"{'; its '.join(changed)}. Undo that change until the job has ended"
                    )
        for source, reader in sources.items():
            reader.read_window(windows[source])
        return job

    def begin(self) -> None:
        """Record the newly claimed job as the latest job of this state, before any row is read.

        If another process did so first, withdraw the claim and raise ``UsageError``.
        """
        if self._state is None:
            return
        try:
            put(self._storage, evolve(self._state, job_id=self._job_id, is_done=False))
        except ManifestConflictError as error:
            with suppress(CheckpointStorageError):
                self._storage.delete_job(self._job_id)
            raise UsageError(_unfinished(load(self._storage, self._state.name))) from error


def _incremental(job: PlannedJob) -> dict[str, Incremental]:
    sources = (source for pipeline in job.pipelines for source in pipeline.sources)
    return {each.name: each.source for each in sources if reads_in_increments(each.source)}


def _note(source: str, window: Window) -> str:
    column = window.reads.get("column", "")
    behind = "from the beginning" if window.after is None else f"after {window.after.value}"
    upto = "and finds no rows" if window.upto is None else f"up to {window.upto.value}"
    return f"The source {source} reads incrementally by {column}: {behind}, {upto}."


def _unfinished(state: IncrementState) -> str:
    return (
        f"the job {state.job_id} of the same name ({state.name!r}) has not ended: it is running, or was stopped or "
        f"killed. Wait for it, or resume it: -r {state.job_id}"
    )
