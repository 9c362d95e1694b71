"""Objects that are pickled for tasks, and the packet that carries them."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.spark.work import Packet, Work


@frozen
class PackedObject:
    """A program, source or sink, pickled for the tasks under a key that no other object ever has."""

    key: str
    carrier: Any = field(repr=False)
    """The pickle, or a Spark broadcast of it."""


def packet_of(works: Sequence[tuple[Work, PackedObject]]) -> Packet:
    """Return the packet of these works, with each packed object once."""
    carriers: Mapping[str, Any] = {packed.key: packed.carrier for _, packed in works}
    return Packet(works=tuple(work for work, _ in works), carriers=carriers)
