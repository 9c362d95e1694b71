"""Warnings about partitions in which a streaming job waits for another producer's open transaction."""

import time
from collections.abc import Mapping

from attrs import define, field

from seatunnel_core.connectors.kafka.starting import Place, Starting

WAIT_S = 10.0
"""Time after which a blocking transaction is reported, in seconds."""

CHECK_S = 2.0
"""Minimum interval between queries of the partition ends that include open transactions, in seconds."""


@define
class OpenTransactions:
    """Partitions in which the last stable offset does not advance between polls although messages follow it."""

    _starting: Starting
    _waiting: dict[Place, tuple[int, float]] = field(factory=dict)
    """Last stable offset of each blocked partition, and the time since which the offset has not advanced."""

    _reported: set[Place] = field(factory=set)
    _checked_s: float = float("-inf")

    def warnings(self, known: Mapping[Place, int], ends: Mapping[Place, int]) -> list[str]:
        """Return a warning for each partition that has been blocked for too long, once per partition.

        ``known`` contains the offsets up to which the job had read before this poll.
        """
        idle = [place for place, end in ends.items() if end == known[place] and place not in self._reported]
        now = time.monotonic()
        if not self._starting.committed or not idle or now - self._checked_s < CHECK_S:
            return []
        self._checked_s = now
        opened = self._starting.ends(idle, opened=True)
        before, self._waiting = self._waiting, {}
        for place in idle:
            if opened[place] > ends[place]:
                end, since = before.get(place, (ends[place], now))
                self._waiting[place] = (end, since) if end == ends[place] else (ends[place], now)
        late = [place for place, (_, since) in sorted(self._waiting.items()) if now - since >= WAIT_S]
        self._reported.update(late)
        return [self._warning(place, ends[place], opened[place]) for place in late]

    def _warning(self, place: Place, end: int, opened: int) -> str:
        topic, partition = place
        return (
            f"{self._starting.cluster.names}: topic {topic}, partition {partition}: a producer has had an open "
            f"transaction since offset {end}. The job waits until the transaction ends, and then reads the offsets "
            f"up to {opened - 1}. If the producer no longer runs, the brokers abort the transaction after its "
            "transaction.timeout.ms; to continue earlier, abort it with kafka-transactions.sh"
        )
