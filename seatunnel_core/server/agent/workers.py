"""The workers that have joined this master: which are alive, and how many slots each has. No I/O."""

import time
from collections.abc import Callable

WORKER_S = 5.0
"""A worker that has not been heard of for so long is not listed any more. It joins every second."""


class Workers:
    """Which workers are there.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, tuple[float, int]] = {}
        """By address: when this master last heard of it, and its slots."""

        self._queries: dict[str, float] = {}
        """By address of a query node: when this master last heard of it."""

    def joined(self, address: str, slots: int) -> None:
        """Take in that a worker lives."""
        now = self._clock()
        self._heard = {each: heard for each, heard in self._heard.items() if now - heard[0] < WORKER_S}
        self._heard[address] = (now, slots)

    def queried(self, address: str) -> None:
        """Take in that a node lives which moves no rows and cannot lead: it forwards requests."""
        now = self._clock()
        self._queries = {each: at for each, at in self._queries.items() if now - at < WORKER_S}
        self._queries[address] = now

    def queries(self) -> list[str]:
        """Return the addresses of the query nodes that are alive."""
        now = self._clock()
        return sorted(each for each, at in self._queries.items() if now - at < WORKER_S)

    def living(self) -> dict[str, int]:
        """Return the slots of the workers that are alive, by address."""
        now = self._clock()
        return {each: slots for each, (at, slots) in sorted(self._heard.items()) if now - at < WORKER_S}
