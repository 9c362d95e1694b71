"""Pickled chains, sources and sinks for tasks."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connectors.task_modules import needed
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.shipping import OWN_PACKAGE, TASK_MODULES, Shipment, modules_in, shipment
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.task_batch import PackedObject

if TYPE_CHECKING:
    from pyspark import SparkContext

BROADCAST_BYTES = 65_536
"""Size in bytes above which a pickle is sent to each worker once, as a Spark broadcast, instead of with every batch."""


class Pickles:
    """Objects pickled for the tasks of one Spark application. Thread-safe."""

    def __init__(self, new_name: Callable[[], str], context: Callable[[], "SparkContext"]) -> None:
        """Create an empty cache. ``new_name`` returns a unique name; ``context`` is only called when needed."""
        self._new_name = new_name
        self._context = context
        self._packed: WeakKeyDictionary[OperatorChain, PackedObject] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._shipment: Shipment | None = None
        """Ships modules to the executors of a cluster; ``None`` if tasks run on the driver's machine."""

        self._given_up = threading.Event()

    def ship(self, settings: SparkSettings, given_up: threading.Event) -> None:
        """Ship the modules that tasks import to the executors of a cluster. ``given_up`` aborts the wait for them."""
        self._given_up = given_up
        self._shipment = shipment(self._context())
        own = [module for module in settings.preloads if module.startswith(OWN_PACKAGE)]
        self._shipment.cover(self._context(), given_up, [*TASK_MODULES, *own], settings.declared)

    def warm(self, slots: int) -> None:
        """Make the Python processes of ``slots`` tasks import the shipped modules."""
        if self._shipment is None:
            self._context().parallelize(range(slots), slots).count()
        else:
            self._shipment.probe_again(self._context())

    def forget(self) -> None:
        """Remove all pickles, because Spark was stopped."""
        self._packed.clear()
        self._shipment = None

    def pack(self, thing: OperatorChain | Source | Sink, whole: OperatorChain | None = None) -> PackedObject:
        """Pickle a chain, source or sink for the tasks.

        On a cluster, this also ensures that tasks can import its code and the modules that its plugins declare. If
        ``thing`` is a chain from which plugins were removed, ``whole`` is the complete chain.
        """
        from pyspark import cloudpickle

        body: bytes = cloudpickle.dumps(thing)
        if self._shipment is not None:
            declared = needed(_plugins_of(whole or thing))
            self._shipment.cover(self._context(), self._given_up, modules_in(body), declared)
        return PackedObject(self._new_name(), body if len(body) <= BROADCAST_BYTES else self._context().broadcast(body))

    def pack_chain(self, chain: OperatorChain) -> PackedObject:
        """Return the pickled chain; later calls return the same object."""
        with self._lock:
            packed = self._packed.get(chain)
            if packed is None:
                packed = self._packed[chain] = self.pack(chain.for_tasks(), chain)
            return packed


def _plugins_of(thing: OperatorChain | Source | Sink) -> list[Any]:
    if not isinstance(thing, OperatorChain):
        return [thing]
    steps = (step.transform for step in thing.steps if step.transform is not None)
    sources = (reader.source for reader in thing.readers)
    return [*sources, *steps, *(target.sink for target in thing.targets)]
