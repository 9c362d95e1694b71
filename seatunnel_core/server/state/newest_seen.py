"""A store that remembers the newest state it has seen, and rejects an older one.

A database that fails over to a replica, or a storage that is restored from a copy, may lose its last seconds, and with
them jobs that were acknowledged. Nothing in the older state shows that. So each node compares what it reads with what
it has seen, and does not lead with an older state.
"""

import logging
import time
from collections.abc import Callable, Mapping

from seatunnel_core.server.errors import StateWentBackError
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version

logger = logging.getLogger("seatunnel.cluster")

REPORT_S = 60.0
"""Interval between two reports that the state is older than before, in seconds."""


class NewestSeenStore(ClusterStore):
    """Passes on what a store gives, if it is not older than what this node has seen.

    Args:
        store: Keeps the state; closed with this.
        clock: Monotonic seconds.
    """

    def __init__(self, store: ClusterStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._newest: Version = ()
        self._lease: Lease | None = None
        self._reported_at: float | None = None
        """Time of the last report that the state went back; ``None`` while it did not."""

        self.problem = ""
        """Why this node cannot lead: the state is older than what it has seen. Empty while it is not."""

    @property
    def newest(self) -> Version:
        """The newest version that was seen, that of this node's own changes included."""
        return max(self._newest, () if self._lease is None else self._lease.version)

    def remember(self, version: Version) -> None:
        """Take into account what another node of the cluster has seen."""
        self._newest = max(self.newest, version)

    def describe(self) -> str:
        return self._store.describe()

    def claim(self) -> Lease:
        self.look()
        lease = self._store.claim()
        try:
            self._require(lease.claimed_from)
        except BaseException:
            lease.release()
            raise
        self.remember(lease.version)
        self._lease = lease
        return lease

    def look(self) -> Observation:
        observation = self._store.look()
        self._require(observation.version)
        self.remember(observation.version)
        return observation

    def read(self) -> Mapping[str, bytes]:
        return self._store.read()

    def close(self) -> None:
        self._store.close()

    def _require(self, version: Version) -> None:
        """Raise if a version is older than the newest one that was seen.

        Raises:
            StateWentBackError: It is.
        """
        newest = self.newest
        if version >= newest:
            if self._reported_at is not None:
                logger.warning("the cluster's state is as new as before again: %s", self.describe())
            self._reported_at, self.problem = None, ""
            return
        error = StateWentBackError(went_back(self.describe(), found=version, seen=newest))
        self.problem = str(error)
        now = self._clock()
        if self._reported_at is None or now - self._reported_at >= REPORT_S:
            self._reported_at = now
            logger.error("%s", error)
        raise error


def went_back(where: str, *, found: object, seen: object) -> str:
    """Return the message about a state that is older than what was seen, with the operator's choices."""
    return (
        f"the cluster's state in {where} is older than what this node has seen (version {found}, and {seen} was seen): "
        "its database failed over and lost its last seconds, or it was restored from a copy. Jobs that were "
        "acknowledged since may be missing, so this node does not lead. Bring the newer state back; or, to accept the "
        "loss, stop all nodes that may lead, start them again, and submit the missing jobs again"
    )
