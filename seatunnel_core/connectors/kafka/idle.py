"""Clients that stay open for later units of the same process, because opening one takes longer than a small read."""

import threading
from typing import Generic, TypeVar

from attrs import define, field

from seatunnel_core.connectors.kafka.cluster import Cluster

T = TypeVar("T")


@define
class Idle(Generic[T]):
    """Idle clients of this process, by the cluster and settings with which they were opened."""

    most: int
    _lock: threading.Lock = field(init=False, factory=threading.Lock)
    _kept: list[tuple[Cluster, T]] = field(init=False, factory=list)

    def take(self, cluster: Cluster) -> T | None:
        """Remove an idle client of a cluster and return it; ``None`` if there is none."""
        with self._lock:
            for number, (of, client) in enumerate(self._kept):
                if of == cluster:
                    del self._kept[number]
                    return client
        return None

    def give_back(self, cluster: Cluster, client: T) -> T | None:
        """Keep a client for later. If there are too many, return the oldest one for the caller to close."""
        with self._lock:
            self._kept.append((cluster, client))
            return self._kept.pop(0)[1] if len(self._kept) > self.most else None
