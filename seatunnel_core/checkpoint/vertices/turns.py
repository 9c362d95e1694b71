"""Order in which the work units of a serial source run (R13)."""

from collections.abc import Iterable, Iterator

from seatunnel_core.checkpoint.vertices.in_flight import HalfBuiltUnit, UnitInFlight
from seatunnel_core.work.split import Split


def in_turn(flights: Iterable[UnitInFlight], *, keyed: bool) -> Iterator[UnitInFlight]:
    """Yield the unfinished units that may run: those that commute with each older unfinished unit.

    A unit that waits for a retry is unfinished. The oldest unfinished unit always may run. A newer unit never runs
    while an older one with which it does not commute is unfinished, so no retry follows a newer unit's rows.

    Args:
        flights: The units in flight, in ascending order of their numbers.
        keyed: True to compare ordering keys; False if no two units commute.
    """
    older: set[str] = set()
    for flight in flights:
        if flight.finished is not None:
            continue
        keys = flight.unit.ordering_keys if keyed else frozenset[str]()
        if not keys:  # commutes with no unit
            if not older:
                yield flight
            return
        if older.isdisjoint(keys):
            yield flight
        older |= keys


def fits_keys(half_built: HalfBuiltUnit, split: Split, most_bytes: int) -> bool:
    """Return True if a unit of a keyed source may contain the split as well.

    Splits with and without an ordering key never share a unit, because the unit would commute with no other one. Splits
    with different keys share a unit of up to ``most_bytes``: a larger one should wait for few older units.
    """
    keys = half_built.ordering_keys | {split.ordering_key}
    is_small = half_built.bytes + split.weight_bytes <= most_bytes
    return len(keys) == 1 or (is_small and None not in keys)
