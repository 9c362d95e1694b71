"""Run of a pipeline until its final end: one epoch, and another one after each retryable failure."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

from attrs import evolve

from seatunnel_core.checkpoint.commands import EndPipeline, Outcome
from seatunnel_core.checkpoint.decisions.restart import RestartBudget, RestartPolicy, after_failure
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.clock import now_ms
from seatunnel_core.connectors.additions import additions
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.metrics import PipelineMetrics
from seatunnel_core.reporting.notices import PipelineLog
from seatunnel_core.reporting.recent import RecentCheckpoint
from seatunnel_core.reporting.report import PipelineView
from seatunnel_core.reporting.series import Point
from seatunnel_core.runtime.epoch_run import EpochRun
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_core.runtime.rereads import Reread, rereadable, sources_with
from seatunnel_core.runtime.savepoints import Answer
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.spark.failure import failure_of
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.state import CheckpointRef

_FINISHING = (Phase.FINISHING, Phase.COMPLETING, Phase.CLEANING, Phase.ENDED)


def _added(planned: PlannedPipeline, progress: PipelineProgress) -> tuple[str, ...]:
    rows = {name: moved.rows_committed for name, moved in progress.by_sink.items()}
    table_rows = progress.table_rows_by_sink
    told = (additions(each.sink, rows.get(each.name, 0), table_rows.get(each.name, {})) for each in planned.sinks)
    return tuple(sentence for sentences in told for sentence in sentences)


def _together(progress: PipelineProgress) -> dict[str, int]:
    """Return the committed rows of each table over all sinks; empty if there is only one table."""
    found: Counter[str] = Counter()
    for table_rows in progress.table_rows_by_sink.values():
        found.update(table_rows)
    return dict(found) if len(found) > 1 else {}


class PipelineOwner(Protocol):
    """Owner of a pipeline, which is notified when it starts and ends."""

    def pipeline_begun(self, run: "PipelineRun") -> None:
        """Handle the start of an epoch. From then on, the pipeline can be resumed."""

    def pipeline_ended(self, run: "PipelineRun") -> None:
        """Handle the final end of the pipeline, with ``run.outcome``."""


class PipelineRun:
    """Run of a pipeline on the loop's thread. Every start and restart is a new epoch (R4)."""

    def __init__(
        self,
        *,
        work: PipelineIO,
        shared: SharedResources,
        protocol_of: Callable[[int], PipelineProtocol],
        restart_policy: RestartPolicy,
        owner: PipelineOwner,
        log: PipelineLog,
    ) -> None:
        self.outcome: Outcome | None = None
        self.failure: Failure | None = None
        self._work = work
        self._shared = shared
        self._protocol_of = protocol_of
        """Function that returns the protocol of the next epoch, given the number of restarts."""
        self._restart_policy = restart_policy
        self._budget = RestartBudget()
        self._committed_rows = 0  # rows committed at the last failure
        self._owner = owner
        self._log = log
        self._restarts = 0
        self._sources_closed = False
        self._stopping = False
        self._savepoints: dict[str, Answer] = {}
        """Pending savepoints by name."""
        self._epoch: EpochRun | None = None
        self._counted: PipelineProgress | None = None
        """Last counters of an earlier epoch that had restored its counters."""
        self._waiting: asyncio.TimerHandle | None = None
        self._metrics = Metrics()
        self._last_view: tuple[PipelineView, int | None] | None = None
        """View of an ended pipeline, and the time of its last checkpoint, from which its age is computed."""

    @property
    def id(self) -> int:
        """Number of the pipeline in its job."""
        return self._work.planned.id

    @property
    def title(self) -> str:
        """Names of the sources and sinks, for users."""
        return self._work.planned.title

    def start(self) -> None:
        """Start an epoch."""
        self._waiting = None
        self._counted = self._progress()
        self._work.sources.progress.restarted()
        self._epoch = EpochRun(
            protocol=self._protocol_of(self._restarts),
            work=self._work,
            shared=self._shared,
            owner=self,
            log=self._log,
            metrics=self._metrics,
        )
        self._epoch.start()

    def stop(self) -> None:
        """Stop after a final checkpoint, or immediately if the pipeline is waiting for a restart."""
        self._stopping = True
        if self.outcome is not None:
            return
        if self._epoch is None or self._waiting is not None:
            self.abandon()
        else:
            self._epoch.stop()

    def savepoint(self, name: str, *, stop: bool, drain: bool, answer: Answer) -> None:
        """Take a savepoint with the next checkpoint; with ``stop`` or ``drain``, the pipeline ends after it."""
        self._savepoints[name] = answer
        self._stopping = self._stopping or stop or drain
        if self.outcome is not None:
            self._answer_at_the_end()
        elif self._epoch is None or self._waiting is not None:
            self._answer(name, None, "the pipeline has failed and is waiting to restart")
            if self._stopping:
                self.abandon()
        else:
            self._epoch.savepoint(name, stop=stop, drain=drain)

    @property
    def rereadable(self) -> tuple[str, ...] | None:
        """Tables that the sources of the pipeline can read again; ``None`` if no source supports this."""
        return rereadable(self._work.planned)

    def reread(self, table: str, answer: Callable[[str, str], None]) -> int:
        """Pass a request to each source that captures a table; return the number of answers to expect."""
        found = sources_with(self._work.planned, table)
        for source, rejection in found.items():
            if rejection:
                answer(source, rejection)
            elif self.outcome is not None or self._epoch is None or self._waiting is not None:
                answer(source, "the pipeline has ended, or is waiting to restart")
            else:
                self._epoch.reread(Reread(source, table, partial(answer, source)))
        return len(found)

    def savepoint_answered(self, name: str, ref: CheckpointRef | None, reason: str) -> None:
        """Forward the result of a savepoint. A failure while finishing is ignored: the final checkpoint replaces it."""
        if ref is None and self._epoch is not None and self._epoch.progress().phase in _FINISHING:
            return  # its final checkpoint becomes its part
        self._answer(name, ref, reason)

    def _answer_at_the_end(self) -> None:
        ref, reason = None, self.failure.message if self.failure else "it has stopped"
        if self.outcome is Outcome.FINISHED and self._epoch is not None:
            progress = self._epoch.progress()
            ref = CheckpointRef(progress.epoch or 0, progress.last_completed_id or 0)
        self._answer_all(ref, reason)

    def _answer_all(self, ref: CheckpointRef | None, reason: str) -> None:
        for name in list(self._savepoints):
            self._answer(name, ref, reason)

    def _answer(self, name: str, ref: CheckpointRef | None, reason: str) -> None:
        answer = self._savepoints.pop(name, None)
        if answer is not None:
            answer(ref, reason)

    def abandon(self) -> None:
        """Stop immediately, as in a crash: nothing more is stored, committed or swept."""
        if self.outcome is None:
            self._ended(Outcome.STOPPED, None)

    def clear(self) -> None:
        """Remove staged output after the end of the job has been recorded.

        A failure is only logged: an unavailable server does not change the result of a job with all rows committed.
        """
        epoch = self._epoch.progress().epoch if self._epoch is not None else None
        if epoch is None:
            return
        try:
            self._work.clear(epoch)
        except (SeaTunnelError, OSError) as error:
            self._log.warning("all rows are committed; remaining staged output could not be removed: %s", error)

    def epoch_begun(self, _run: EpochRun) -> None:
        """Report to the owner that the pipeline can be resumed."""
        self._owner.pipeline_begun(self)

    def epoch_ended(self, run: EpochRun, end: EndPipeline) -> None:
        """Finish, restart or end the pipeline according to the outcome of the epoch."""
        run.leave()
        if end.outcome is Outcome.FAILED and end.failure is not None:
            self._metrics.failed(end.failure)
        if end.outcome is Outcome.FINISHED:
            self._conclude(run)
        elif end.outcome is Outcome.FAILED and end.failure is not None:
            self._look_whose_it_is(run, end.failure)
        else:
            self._ended(end.outcome, end.failure)

    def view(self) -> PipelineView:
        """Return the current state of the pipeline."""
        ended = self.outcome is not None  # read first: afterwards the values below no longer change
        view, completed_ms = self._last_view or self._view_now()
        if ended:
            self._last_view = view, completed_ms
        return view if completed_ms is None else evolve(view, last_checkpoint_age_ms=now_ms() - completed_ms)

    def _view_now(self) -> tuple[PipelineView, int | None]:
        planned = self._work.planned
        counts = PipelineView(
            id=planned.id,
            name=planned.title,
            phase="waiting",
            restarts=self._restarts,
            bounded=planned.bounded,
            failure=self.failure.message if self.failure else "",
            code=self.failure.code if self.failure else "",
            warnings=self._metrics.warnings,
            sources=self._work.sources.progress.shown(),
        )
        progress = self._progress()
        if progress is None:
            return counts, None
        view = evolve(
            counts,
            phase=self._phase(progress),
            rows_read=progress.rows_read,
            rows_written=progress.rows_written,
            bytes_read=progress.bytes_read,
            rows_committed=progress.rows_committed,
            rows_skipped=progress.rows_skipped,
            units_repeated=self._metrics.units_repeated,
            splits_done=progress.splits_done,
            splits_total=progress.splits_total,
            last_checkpoint_id=progress.last_completed_id,
            checkpoints_completed=self._metrics.checkpoints_completed,
            checkpoints_failed=self._metrics.checkpoints_failed,
            degraded=progress.degraded,
            added=_added(planned, progress),
            table_rows=_together(progress),
        )
        return view, progress.last_completed_ms

    def metrics(self) -> PipelineMetrics:
        """Return the current metrics of the pipeline."""
        return self._metrics.measured(self.view(), self._progress())

    @property
    def point(self) -> Point:
        """Counters and gauges at the last sample."""
        return self._metrics.point

    def recent_checkpoints(self) -> tuple[RecentCheckpoint, ...]:
        """Return the last checkpoints of this process, completed or aborted, oldest first."""
        return self._metrics.recent.listed()

    def _progress(self) -> PipelineProgress | None:
        """Return the current counters, or the previous epoch's until they are restored; ``None`` before both."""
        if self._epoch is None:
            return None
        progress = self._epoch.progress()
        if self._counted is None or progress.last_completed_id is not None:
            return progress
        return evolve(
            self._counted,
            phase=progress.phase,
            epoch=progress.epoch,
            degraded=progress.degraded,
            units_in_flight=0,
            units_running=0,
            pending=0,
        )

    def _phase(self, progress: PipelineProgress) -> str:
        if self.outcome is not None:
            return self.outcome.value
        if self._waiting is not None:
            return "waiting"
        needs_spark = progress.phase in (Phase.PREPARING, Phase.ENUMERATING)
        return "starting Spark" if needs_spark and not self._shared.spark.done() else progress.phase.value

    def _conclude(self, run: EpochRun) -> None:
        """Call the sinks that act at the end, such as ``Assert``, after all rows have been committed."""
        if not self._work.concludes:
            self._shared.inbox.put(partial(self._ended, Outcome.FINISHED, None))
            return
        progress = run.progress()

        def conclude() -> None:
            try:
                self._work.conclude(progress)
            except Exception as error:
                ended = partial(self._ended, Outcome.FAILED, failure_of(error))
            else:
                ended = partial(self._ended, Outcome.FINISHED, None)
            self._shared.inbox.put(ended)

        self._shared.connector_pool.submit(conclude)

    def _look_whose_it_is(self, run: EpochRun, failure: Failure) -> None:
        """Check whether another engine owns the pipeline before a failure is counted (R5).

        An engine that was replaced often gets an I/O error first, because the other one has published or swept its
        staged output. If the storage itself failed, it is not queried.
        """
        epoch = run.progress().epoch
        if epoch is None or failure.kind is FailureKind.STORAGE:
            self._restart_or_fail(run, failure)
            return

        def check_owner() -> None:
            heeded = partial(self._restart_or_fail, run, failure)
            try:
                self._work.require_own(epoch)
            except StaleEpochError as error:
                message = f"{error}. The original failure: {failure.message}"
                fenced = Failure(kind=FailureKind.STORAGE, message=message, code=error.code)
                heeded = partial(self._ended, Outcome.FENCED, fenced)
            except Exception as error:  # the owner is unknown; the failure counts
                self._log.debug("the owner of the pipeline could not be determined: %s", error)
            self._shared.inbox.put(heeded)

        self._shared.storage_pool.submit(check_owner)

    def _restart_or_fail(self, run: EpochRun, failure: Failure) -> None:
        if self.outcome is not None:
            return
        if self._stopping:
            run.after_commits(partial(self._ended, Outcome.FAILED, failure))
            return
        now, committed_rows = now_ms(), run.progress().rows_committed
        decision = after_failure(
            self._restart_policy,
            self._budget,
            failure,
            ran_ms=now - run.started_ms,
            moved=committed_rows > self._committed_rows,
            now_ms=now,
            chance=random.random(),
        )
        self._budget = decision.budget
        self._committed_rows = max(committed_rows, self._committed_rows)
        if decision.restart_at_ms is None:
            run.after_commits(partial(self._ended, Outcome.FAILED, failure))
            return
        pause_s = (decision.restart_at_ms - now) / 1000
        self._log.warning("%s; starts again in %.1f s", failure.message, pause_s, extra={"code": failure.code})
        self._answer_all(None, failure.message)
        self._restarts += 1
        self._waiting = self._shared.loop.call_later(pause_s, self.start)

    def _ended(self, outcome: Outcome, failure: Failure | None) -> None:
        if self.outcome is not None:
            return
        if self._waiting is not None:
            self._waiting.cancel()
        if self._epoch is not None:
            self._epoch.leave()
        self.failure = failure
        self.outcome = outcome  # last: a thread that reads it stores the final view
        if failure is not None:
            self._log.error("%s", failure.message, extra={"code": failure.code})
            self._log.debug("%s", failure.detail)
        if self._work.sources.need_closing:
            self._shared.connector_pool.submit(self.close_sources)
        self._answer_at_the_end()
        self._owner.pipeline_ended(self)

    def close_sources(self) -> None:
        """Release the resources of the sources, unless this was already done.

        The job calls it again after closing its pool, which drops queued work.
        """
        if not self._sources_closed:
            self._sources_closed = True
            self._work.sources.close()
