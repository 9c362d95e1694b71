"""Interface of a cluster's state: a durable map with a single writer per term.

A *term* is a number that grows with each claim. The node with the newest term is the leader and the only writer;
changes and heartbeats of older terms are never acknowledged. Standbys and tools read concurrently, without a claim.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from attrs import field, frozen

Version = tuple[int, ...]
"""Version of a state. The larger of two versions of a store is newer."""


@frozen(kw_only=True)
class Observation:
    """Newest claim and heartbeat in the store. If two observations are equal, the leader did nothing in between."""

    claimed: int
    """Newest claimed term; 0 if there is none."""

    term: int
    """Term of the newest heartbeat; 0 if there is none."""

    number: int
    """Number of the newest heartbeat within its term."""

    body: bytes
    """Content of the newest heartbeat; empty if there is none."""

    version: Version = field(default=(), eq=False)


class Lease(ABC):
    """A leader's exclusive right to change the state, from its claim to the next one. Thread-safe."""

    @property
    @abstractmethod
    def term(self) -> int:
        """Term of this claim; larger than all earlier ones."""

    @property
    @abstractmethod
    def entries(self) -> Mapping[str, bytes]:
        """All acknowledged entries, as a live view in which changes appear when they are acknowledged."""

    version: Version = ()
    """Version of the state after the last acknowledged change or heartbeat of this lease."""

    claimed_from: Version = ()
    """Version of the state at the time of the claim."""

    @abstractmethod
    def commit(self, changes: Mapping[str, bytes | None]) -> None:
        """Store changes durably and atomically; ``None`` removes a key.

        Raises:
            DeposedError: A newer term was claimed; the changes are not acknowledged.
            StateUnavailableError: The storage failed. The changes may or may not be durable, and all later commits of
                this lease fail.
        """

    @abstractmethod
    def renew(self, number: int, body: bytes) -> None:
        """Store a heartbeat. If this returns, no newer term was claimed before the heartbeat was stored.

        Raises:
            DeposedError: A newer term was claimed.
            StateUnavailableError: The storage failed.
        """

    @abstractmethod
    def release(self) -> None:
        """End the lease without changing the state. All later commits fail. Idempotent."""


class ClusterStore(ABC):
    """Store of one cluster's state. Thread-safe."""

    @abstractmethod
    def describe(self) -> str:
        """Return the location of the state, for messages."""

    @abstractmethod
    def claim(self) -> Lease:
        """Claim the next term. From then on, no change of an older lease is acknowledged.

        Raises:
            DeposedError: Another claim was faster.
            StateUnavailableError: The storage failed.
        """

    @abstractmethod
    def observe(self) -> Observation:
        """Return the newest claim and heartbeat, without claiming; raise ``StateUnavailableError`` on failure."""

    @abstractmethod
    def read(self) -> Mapping[str, bytes]:
        """Return a copy of the entries, without a claim.

        It contains all changes acknowledged before the call, and may contain concurrent ones.

        Raises:
            StateUnavailableError: The storage failed, or the entries changed too fast to be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Idempotent."""
