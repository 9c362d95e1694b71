"""Pool of idle clients for later work units in the same process. Opening a client takes longer than a small read."""

import threading
from typing import Generic, TypeVar

from attrs import define, field

from seatunnel_core.connectors.kafka.cluster import Cluster

T = TypeVar("T")


@define
class Idle(Generic[T]):
    """Idle clients of this process, by cluster and settings."""

    most: int
    _lock: threading.Lock = field(init=False, factory=threading.Lock)
    _kept: list[tuple[Cluster, T]] = field(init=False, factory=list)

    def take(self, cluster: Cluster) -> T | None:
        """Remove and return an idle client of a cluster; ``None`` if there is none."""
        with self._lock:
            for number, (of, client) in enumerate(self._kept):
                if of == cluster:
                    del self._kept[number]
                    return client
        return None

    def give_back(self, cluster: Cluster, client: T) -> T | None:
        """Add a client to the pool. If the pool is full, return the oldest client for the caller to close."""
        with self._lock:
            self._kept.append((cluster, client))
            return self._kept.pop(0)[1] if len(self._kept) > self.most else None
