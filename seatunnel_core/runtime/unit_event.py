"""The result of a work unit as an event of the protocol."""

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.spark.failure import reading
from seatunnel_core.spark.program import Program
from seatunnel_core.spark.work import UnitResult


def unit_event(order: commands.RunUnit, program: Program, result: UnitResult, now: int) -> Event:
    """Return the event for the result of a work unit.

    ``program`` is what the unit ran; it names what a failed unit was reading.
    """
    if result.failure is not None:
        return events.UnitFailed(
            now_ms=now,
            task=order.task,
            attempt=result.attempt,
            failure=result.failure,
            reading=_reading(program, order),
        )
    return events.UnitFinished(
        now_ms=now,
        task=order.task,
        attempt=result.attempt,
        rows_read=result.rows_read,
        bytes_read=result.bytes_read,
        rows_skipped=result.rows_skipped,
        committables=dict(result.committables),
    )


def _reading(program: Program, order: commands.RunUnit) -> str:
    if program.splits is None:
        return reading(program.source, order.attempt.unit.splits)
    return "; ".join(reading(reader.source, program.splits[reader.name]) for reader in program.readers)
