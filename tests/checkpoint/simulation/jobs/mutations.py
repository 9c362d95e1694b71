"""The runtime broken on purpose, one rule at a time, to show that simulated jobs would notice."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from attrs import evolve, frozen

from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.decisions import matching
from seatunnel_core.checkpoint.vertices.sink import SinkVertex
from seatunnel_core.claiming import claim
from seatunnel_core.claiming.bound import Bound
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning import save_modes
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.reporting.report_record import report_record
from seatunnel_core.runtime import pipeline_io
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.runtime.save_modes import SaveModes
from seatunnel_core.runtime.savepoints import JobSavepoints, ManifestWriter
from seatunnel_core.runtime.unit_runs import UnitRuns
from seatunnel_core.spark.choosing import BatchChoice
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.packing import ShareMode
from seatunnel_core.spark.running import RunningBatch
from seatunnel_storage_api import retention


@frozen
class JobMutation:
    """One rule, broken."""

    rule: str
    what: str
    broken: Callable[[], AbstractContextManager[Any]]

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """Replace a function by what ``make`` builds from the original."""
    return lambda: patch.object(owner, name, make(getattr(owner, name)))


def _claim_above_all(_original: Any) -> Any:
    return lambda storage, job_id, pipeline_id, minimum: storage.acquire_epoch(job_id, pipeline_id, minimum)


def _finished_whatever_happened(original: Any) -> Any:
    return lambda self: evolve(original(self), outcome=JobOutcome.FINISHED)


def _ended_with_its_first_pipeline(original: Any) -> Any:
    def ended(self: Any, run: Any) -> None:
        original(self, run)
        if self._ended == 1 and len(self._runs) > 1 and run.outcome is Outcome.FINISHED:
            table = report_record(self._report())
            self._storage_pool.submit(self._manifest.write, lambda manifest: manifest.closed(table))

    return ended


def _complete_with_its_first_part(original: Any) -> Any:
    def answered(self: Any, taking: Any, pipeline: int, ref: Any, reason: str) -> None:
        if ref is not None and pipeline in taking.waiting:
            taking.waiting = {pipeline: taking.waiting[pipeline]}
        if pipeline in taking.waiting:
            original(self, taking, pipeline, ref, reason)

    return answered


def _any_part_will_do(original: Any) -> Any:
    """The last checkpoint before it, which the next prune takes."""

    def answered(self: Any, taking: Any, pipeline: int, ref: Any, reason: str) -> None:
        before = None if ref is None else evolve(ref, checkpoint_id=ref.checkpoint_id - 1)
        original(self, taking, pipeline, before, reason)

    return answered


def _forget_tables(original: Any) -> Any:
    return lambda self, checkpoint_id: evolve(original(self, checkpoint_id), published_to={})


def _stop_shared_batches(_original: Any) -> Any:
    def cancel(self: Any, job_id: str, pipeline_id: int) -> None:
        pipeline = (job_id, pipeline_id)
        self._waiting = [unit for unit in self._waiting if unit.pipeline != pipeline]
        for batch in list(self._running):
            batch.dropped.add(pipeline)
            if any(unit.pipeline == pipeline for unit in batch.units):
                self._backend.cancel(batch.tag)

    return cancel


def _share_always(original: Any) -> Any:
    def begin(self: Any, backend: Any, _mode: ShareMode, slots: int | None = None, *more: float) -> None:
        original(self, backend, ShareMode.ALL, slots, *more)

    return begin


def _all_slots(original: Any) -> Any:
    def begin(self: Any, backend: Any, mode: ShareMode, _slots: int | None = None, *more: float) -> None:
        original(self, backend, mode, None, *more)

    return begin


def _new_seats(original: Any) -> Any:
    return lambda self, pipelines: original(evolve(self, seats={}), pipelines)


def _prune_savepoints_too(original: Any) -> Any:
    def prune(listing: Any, *, stored: Any, max_retained: int) -> Any:
        gone = tuple(info for info in listing.checkpoints if info.ref != stored)
        return evolve(original(listing, stored=stored, max_retained=max_retained), checkpoints=gone)

    return prune


def _forget_orders(original: Any) -> Any:
    def run_unit(self: Any, command: Any) -> None:
        if self._shared.spark.done():
            original(self, command)

    return run_unit


def _without_lock(original: Any) -> Any:
    class Open:
        def __enter__(self) -> None: ...
        def __exit__(self, *_exception: object) -> None: ...

    def write(self: Any, change: Any) -> None:
        self._writing = Open()
        original(self, change)

    return write


def _cancel_what_is_overdue(_original: Any) -> Any:
    """As it was: all of the batch runs again, beside what has begun."""

    def give_away(self: Any, batch: Any) -> bool:
        with self._changed:
            self._requeue(batch, batch.left(), "took far longer than predicted")
        self._backend.cancel(batch.tag)
        return True

    return give_away


JOB_MUTATIONS: tuple[JobMutation, ...] = (
    JobMutation("R7", "a process claims above the one that came after it", _replace(
        pipeline_io, "claim_epoch", _claim_above_all)),
    JobMutation("R7", "a job has finished whatever its pipelines did", _replace(
        JobThreads, "_report", _finished_whatever_happened)),
    JobMutation("R7", "a job has ended with its first pipeline", _replace(
        JobThreads, "pipeline_ended", _ended_with_its_first_pipeline)),
    JobMutation("R7", "vertices get new places in a restore", _replace(Manifest, "extended", _new_seats)),
    JobMutation("R4", "each pipeline empties a target that it shares", _replace(
        SaveModes, "apply", lambda _original: lambda self, sink, place: sink.apply_save_mode(place))),
    JobMutation("R4", "a restart does not know which targets the job has written to", _replace(
        save_modes.SharedTarget, "is_written", lambda _original: lambda self, states_of: False)),
    JobMutation("R4", "a restart decides about save modes before it claims the job", _replace(
        claim, "_check_again", lambda _original: lambda storage, job_id, claimed, *_: claimed)),
    JobMutation("R4", "a restart reads the states again, but the process before it goes on", _replace(
        claim, "claim_epoch", lambda _original: lambda *_: 0)),
    JobMutation("R4", "a checkpoint that lands after the decision about save modes counts", _replace(
        claim, "keep_judged", lambda _original: lambda *_: None)),
    JobMutation("R4", "a sink that came in place of another one empties what that one wrote", _replace(
        save_modes, "_others_of", lambda _original: lambda *_: [])),
    JobMutation("R8", "a restore does not compare what the sinks are told", _replace(
        Bound, "_changes", lambda _original: lambda self, sink, epoch: [])),
    JobMutation("R8", "a restart does not know the tables with rows", _replace(
        SinkVertex, "snapshot", _forget_tables)),
    JobMutation("R7", "a sink is dropped with what it has to publish", _replace(
        matching, "_require_published", lambda _original: lambda states, topology: None)),
    JobMutation("savepoints", "complete with the first part", _replace(
        JobSavepoints, "_answered", _complete_with_its_first_part)),
    JobMutation("savepoints", "its parts are ordinary checkpoints", _replace(
        JobSavepoints, "_answered", _any_part_will_do)),
    JobMutation("savepoints", "they are pruned", _replace(retention, "prune", _prune_savepoints_too)),
    JobMutation("slots", "Spark's slots are the bound", _replace(UnitDispatcher, "__init__", _all_slots)),
    JobMutation("slots", "they are not given back", _replace(
        JobRun, "_give_slots_back", lambda _original: lambda self: None)),
    JobMutation("R15", "a batch is stopped with the first of its pipelines", _replace(
        UnitDispatcher, "cancel", _stop_shared_batches)),
    JobMutation("R15", "units share Spark jobs whatever the mode", _replace(
        UnitDispatcher, "__init__", _share_always)),
    JobMutation("R15", "the units of a lost batch are forgotten", _replace(
        UnitDispatcher, "_again", lambda _original: lambda self, batch, lost: None)),
    JobMutation("R15", "an overdue batch runs again beside itself", _replace(
        UnitDispatcher, "_give_away", _cancel_what_is_overdue)),
    JobMutation("R15", "what an overdue batch has begun is given away, too", _replace(
        RunningBatch, "left_unbegun", lambda _original: lambda self: self.left())),
    JobMutation("R15", "a new start does not wait for what was cancelled", _replace(
        BatchChoice, "_must_wait", lambda _original: lambda self, unit, running: False)),
    JobMutation("R15", "a unit that begins again is not counted", _replace(
        UnitDispatcher, "_note_begun", lambda _original: lambda self, order: None)),
    JobMutation("threads", "units that wait for Spark are forgotten", _replace(
        UnitRuns, "run", _forget_orders)),
    JobMutation("threads", "manifests are written from two threads at once", _replace(
        ManifestWriter, "write", _without_lock)),
)  # fmt: skip
