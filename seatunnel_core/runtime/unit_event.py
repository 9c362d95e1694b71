"""What a task answered for a work unit, as the protocol hears it."""

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.connectors.source import Source
from seatunnel_core.spark.failure import reading
from seatunnel_core.spark.task import UnitResult


def unit_event(order: commands.RunUnit, source: Source, result: UnitResult, now: int) -> Event:
    """``source`` says what the unit of a failed ``order`` reads."""
    if result.failure is not None:
        return events.UnitFailed(
            now_ms=now,
            task=order.task,
            unit=result.unit,
            epoch=result.epoch,
            attempt=result.attempt,
            failure=result.failure,
            reading=reading(source, order.unit.splits),
        )
    return events.UnitFinished(
        now_ms=now,
        task=order.task,
        unit=result.unit,
        epoch=result.epoch,
        attempt=result.attempt,
        rows_read=result.rows_read,
        bytes_read=result.bytes_read,
        rows_skipped=result.rows_skipped,
        committables=dict(result.committables),
    )
