"""The result of a work unit as an event of the protocol."""

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.spark.failure import reading
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.work import UnitResult


def unit_event(order: commands.RunUnit, chain: OperatorChain, result: UnitResult, now: int) -> Event:
    """Return the event for the result of a work unit.

    ``chain`` is the unit's operator chain; it describes the input of a failed unit.
    """
    if result.failure is not None:
        return events.UnitFailed(
            now_ms=now,
            task=order.task,
            attempt=result.attempt,
            failure=result.failure,
            reading=_reading(chain, order),
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


def _reading(chain: OperatorChain, order: commands.RunUnit) -> str:
    if chain.splits is None:
        return reading(chain.source, order.attempt.unit.splits)
    return "; ".join(reading(reader.source, chain.splits[reader.name]) for reader in chain.readers)
