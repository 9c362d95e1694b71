"""Complete suite in a single class, to be subclassed."""

from seatunnel_storage_api.testing.concurrency import Concurrency
from seatunnel_storage_api.testing.cost import Cost
from seatunnel_storage_api.testing.crash import Crash
from seatunnel_storage_api.testing.durability import Durability
from seatunnel_storage_api.testing.fencing import Fencing
from seatunnel_storage_api.testing.isolation import Isolation
from seatunnel_storage_api.testing.mistakes import Mistakes
from seatunnel_storage_api.testing.model import Model
from seatunnel_storage_api.testing.ordering import Ordering
from seatunnel_storage_api.testing.retention import Retention
from seatunnel_storage_api.testing.sealing import Sealing


class CheckpointStorageConformance(
    Durability, Crash, Sealing, Ordering, Retention, Isolation, Fencing, Concurrency, Mistakes, Cost, Model
):
    """Tests of all externally observable guarantees. Supply ``factory``, ``configuration`` and ``backdoor``."""
