"""Objects pickled for tasks, and the task batch that carries them."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.spark.work import TaskBatch, Work


@frozen
class PackedObject:
    """Operator chain, source or sink, pickled for tasks and identified by a unique key."""

    key: str
    carrier: Any = field(repr=False)
    """Pickled object, or a Spark broadcast of it."""


def batch_of(works: Sequence[tuple[Work, PackedObject]]) -> TaskBatch:
    """Return a task batch with these work items, in which each packed object occurs once."""
    carriers: Mapping[str, Any] = {packed.key: packed.carrier for _, packed in works}
    return TaskBatch(works=tuple(work for work, _ in works), carriers=carriers)
