"""Worker nodes that have joined this master, with their slots. This module does no I/O."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.stored_fields import Stored, added

WORKER_S = 5.0
"""Time after which a silent worker node is no longer listed, in seconds. Worker nodes send a request every second."""


@frozen(kw_only=True)
class Welcome(Stored):
    """Response of a master to a joining worker node."""

    leader: str
    masters: tuple[str, ...]
    workers: Mapping[str, int]
    """Slots of worker nodes by address."""

    queries: tuple[str, ...] = added(())
    """Addresses of the query nodes known to the master."""

    spark: str
    """URL of the Spark master with which Spark workers register; empty if the master node needs no Spark workers."""

    hosts: tuple[str, ...]
    """Names of the master's worker processes."""

    clock: float | None = added(None)
    """Clock of the master, in seconds since 1970; ``None`` for query nodes and in responses of earlier versions."""

    @classmethod
    def of_members(cls, block: Any) -> "Welcome":
        """Return the response to a query node, which has no Spark workers."""
        return cls.from_record({**block, "masters": stored.member(block, "members"), "spark": "", "hosts": []})


class Workers:
    """Live worker and query nodes; ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, tuple[float, int]] = {}
        """Time of the last contact and slots of each worker node, by address."""

        self._queries: dict[str, float] = {}
        """Time of the last contact of each query node, by address."""

    def joined(self, address: str, slots: int) -> None:
        """Record that a worker node is alive."""
        now = self._clock()
        self._heard = {each: heard for each, heard in self._heard.items() if now - heard[0] < WORKER_S}
        self._heard[address] = (now, slots)

    def queried(self, address: str) -> None:
        """Record that a query node, which only forwards requests, is alive."""
        now = self._clock()
        self._queries = {each: at for each, at in self._queries.items() if now - at < WORKER_S}
        self._queries[address] = now

    def queries(self) -> list[str]:
        """Return the addresses of live query nodes."""
        now = self._clock()
        return sorted(each for each, at in self._queries.items() if now - at < WORKER_S)

    def living(self) -> dict[str, int]:
        """Return the slots of live worker nodes, by address."""
        now = self._clock()
        return {each: slots for each, (at, slots) in sorted(self._heard.items()) if now - at < WORKER_S}
