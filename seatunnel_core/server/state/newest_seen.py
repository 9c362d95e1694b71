"""Store wrapper that remembers the newest version that it has seen and rejects older versions.

A database failover or a restore from a backup may lose the last seconds, including acknowledged jobs. The restored
state itself does not show this. Therefore each node remembers the newest version and does not lead with an older one.

A node that has not seen the newest version may claim the older state. Its term is newer, but the changes remain lost.
Therefore heartbeats contain the version that was claimed, and a node that noticed the loss compares that version.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.errors import StateWentBackError
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version

logger = logging.getLogger("seatunnel.cluster")

CLAIMED_FROM = "claimed_from"
"""Key of the version that was claimed, in a heartbeat. Earlier versions ignore it."""

REPORT_S = 60.0
"""Interval between two log messages about an older state, in seconds."""


class NewestSeenStore(ClusterStore):
    """Store that rejects a state that is older than the newest state this node has seen."""

    def __init__(self, store: ClusterStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._newest: Version = ()
        self._remembering = threading.Lock()
        self._claimed_from: dict[Version, Version] = {}
        """Versions that were claimed since the state is older than before, by term, as the start of a version."""

        self._lease: Lease | None = None
        self._reported_at: float | None = None
        """Time of the last log message about an older state; ``None`` while the state is not older than before."""

        self.problem = ""
        """Message that this node cannot lead, because the state is older than before; otherwise empty."""

    @property
    def newest(self) -> Version:
        """Newest version seen, including this node's own changes."""
        return max(self._newest, () if self._lease is None else self._lease.version)

    def remember(self, version: Version) -> None:
        """Record a version that another node has seen."""
        with self._remembering:
            self._newest = max(self.newest, version)

    def describe(self) -> str:
        return self._store.describe()

    def claim(self) -> Lease:
        self.observe()
        lease = self._store.claim()
        try:
            self._require(lease.claimed_from)
        except BaseException:
            lease.release()
            raise
        self.remember(lease.version)
        self._lease = lease
        return lease

    def observe(self) -> Observation:
        observation = self._store.observe()
        self._require(self._comparable(observation))
        self.remember(observation.version)
        return observation

    def read(self) -> Mapping[str, bytes]:
        return self._store.read()

    def close(self) -> None:
        self._store.close()

    def _comparable(self, seen: Observation) -> Version:
        """Return the version to compare with the newest one: after a loss, the one from which newer terms descend."""
        version, term = seen.version, self.newest[:1]
        if not self.problem or version[:1] <= term:
            return version
        if seen.term < seen.claimed:  # the new leader has not stored a heartbeat yet
            raise StateWentBackError(self.problem)
        claimed = _claimed_from(seen.body)
        if claimed and claimed[:1] < version[:1]:
            self._claimed_from[version[:1]] = claimed
        while version[:1] > term and version[:1] in self._claimed_from:
            version = self._claimed_from[version[:1]]
        return version

    def _require(self, version: Version) -> None:
        """Raise ``StateWentBackError`` if a version is older than the newest one seen."""
        newest = self.newest
        if version >= newest:
            if self._reported_at is not None:
                logger.warning("the cluster's state is up to date again: %s", self.describe())
            self._reported_at, self.problem = None, ""
            self._claimed_from.clear()
            return
        error = StateWentBackError(went_back(self.describe(), found=version, seen=newest))
        self.problem = str(error)
        now = self._clock()
        if self._reported_at is None or now - self._reported_at >= REPORT_S:
            self._reported_at = now
            logger.error("%s", error)
        raise error


def version_in(block: Any, key: str) -> Version:
    """Return a version from a block; empty if an earlier version of this program did not write it."""
    found = stored.items(block, key) if stored.has(block, key) else []
    if not all(type(each) is int for each in found):
        raise StoredValueError(f"{key} is not a version: {found}")
    return tuple(found)


def _claimed_from(heartbeat: bytes) -> Version:
    """Return the version that the sender of a heartbeat claimed; empty if it is unknown."""
    try:
        return version_in(stored.parse(heartbeat), CLAIMED_FROM)
    except StoredValueError:  # reported by the election
        return ()


def went_back(where: str, *, found: object, seen: object) -> str:
    """Return the message about a state that is older than one seen before. It lists what the operator can do."""
    return (
        f"the cluster's state in {where} is older than the state that this node has seen (version {found}, but "
        f"version {seen} was seen): its database failed over and lost the last writes, or it was restored from a "
        "copy. Jobs that were acknowledged since may be missing, so this node does not lead. Restore the newer "
        "state; or, to accept the loss, stop all nodes that may lead, start them again, and submit the missing "
        "jobs again"
    )
