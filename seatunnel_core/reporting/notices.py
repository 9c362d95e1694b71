"""Counting and logging of the notices of the protocol, with job, pipeline and checkpoint."""

import logging
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from seatunnel_core.checkpoint import commands
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.spans import record_span

PIPELINE_LOG = "seatunnel.pipeline"
"""Logger of pipeline events."""


class PipelineLog(logging.LoggerAdapter[logging.Logger]):
    """Logger that adds ``job``, ``pipeline`` and ``checkpoint`` (which may be ``None``) to its records."""

    def __init__(self, job_id: str, pipeline_id: int) -> None:
        fixed = {"job": job_id, "pipeline": pipeline_id, "checkpoint": None}
        super().__init__(logging.getLogger(PIPELINE_LOG), fixed)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Return the message, with the attributes of this logger and of the call."""
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs


class Notices:
    """Notices of one epoch. ``handlers`` maps each type of notice to the method that counts and logs it."""

    def __init__(self, log: PipelineLog, metrics: Metrics) -> None:
        self.handlers: Mapping[type[commands.Command], Callable[[Any], None]] = {
            commands.CheckpointTriggered: self._checkpoint_triggered,
            commands.CheckpointCompleted: self._checkpoint_completed,
            commands.CheckpointPublished: self._checkpoint_published,
            commands.CheckpointAborted: self._checkpoint_aborted,
            commands.RowsCommitted: self._rows_committed,
            commands.Degraded: self._degraded,
        }
        self._log = log
        self._metrics = metrics

    def epoch_started(self, notice: commands.EpochStarted) -> None:
        """Log and count the start of an epoch."""
        self._metrics.epoch_started(notice)
        base = f"from checkpoint {notice.base}" if notice.base else "from the beginning"
        self._log.info(
            "epoch %d started %s: %d work units are run again, %d committables are committed again",
            notice.epoch,
            base,
            notice.restored_units,
            notice.restored_committables,
        )

    def retracted(self, removed: int) -> None:
        """Log the number of published outputs that were rolled back."""
        self._log.info("rolled back %d published outputs", removed)

    def begun_again(self, order: commands.RunUnit, sinks: Sequence[str]) -> None:
        """Warn that a work unit is repeated and its rows may be duplicated in these sinks."""
        self._log.warning(
            "work unit %d of source %s is run again after a partial run: rows already written directly to %s may "
            "be duplicated",
            order.attempt.unit.number,
            order.task,
            ", ".join(sinks),
        )

    def warned(self, source: str, warnings: Sequence[str]) -> None:
        """Log the warnings of a source, and store them for the job's report."""
        for warning in warnings:
            self._metrics.warned(f"source {source}: {warning}")
            self._log.warning("source %s: %s", source, warning)

    def _checkpoint_triggered(self, notice: commands.CheckpointTriggered) -> None:
        self._metrics.triggered()
        number, kind = notice.checkpoint_id, notice.checkpoint_type.value
        self._log.debug("checkpoint %d (%s) triggered", number, kind, extra={"checkpoint": number})

    def _checkpoint_completed(self, notice: commands.CheckpointCompleted) -> None:
        self._metrics.completed(notice)
        record_span("checkpoint", notice.duration_ms, self._named(notice.checkpoint_id) | {"bytes": notice.state_bytes})
        self._log.info(
            "checkpoint %d (%s) completed in %d ms, %d bytes",
            notice.checkpoint_id,
            notice.checkpoint_type.value,
            notice.duration_ms,
            notice.state_bytes,
            extra={"checkpoint": notice.checkpoint_id},
        )

    def _checkpoint_published(self, notice: commands.CheckpointPublished) -> None:
        self._metrics.published(notice)
        number = notice.checkpoint_id
        self._log.debug("checkpoint %d published in %d ms", number, notice.commit_ms, extra={"checkpoint": number})

    def _named(self, checkpoint_id: int) -> dict[str, Any]:
        extra = self._log.extra or {}
        return {"job": str(extra["job"]), "pipeline": extra["pipeline"], "checkpoint": checkpoint_id}

    def _checkpoint_aborted(self, notice: commands.CheckpointAborted) -> None:
        self._metrics.aborted(notice)
        if notice.kind.is_failure:
            record_span("checkpoint", 0, self._named(notice.checkpoint_id), error=str(notice.reason))
        number = notice.checkpoint_id
        level = logging.WARNING if notice.kind.is_failure else logging.INFO
        self._log.log(level, "checkpoint %d aborted: %s", number, notice.reason, extra={"checkpoint": number})

    def savepoint_completed(self, notice: commands.SavepointCompleted) -> None:
        """Log that a savepoint is durable."""
        number = notice.ref.checkpoint_id
        self._log.info("savepoint %s completed as checkpoint %s", notice.name, notice.ref, extra={"checkpoint": number})

    def savepoint_failed(self, notice: commands.SavepointFailed) -> None:
        """Log a warning that a savepoint failed, with the reason."""
        self._log.warning("savepoint %s was not taken: %s", notice.name, notice.reason)

    def _rows_committed(self, notice: commands.RowsCommitted) -> None:
        self._log.debug("sink %s committed %d rows, %d in all", notice.sink, notice.rows, notice.total_rows)

    def _degraded(self, notice: commands.Degraded) -> None:
        if notice.reason:
            self._log.warning("degraded: %s", notice.reason)
