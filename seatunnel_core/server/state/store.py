"""Where a cluster's state lies, as an interface: a durable map whose writer holds a term.

A *term* is a number that grows with each claim. Whoever holds the newest one is the leader and the only writer; a
change or a beat of an older one is never acknowledged. Standbys and tools read beside the writer and claim nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from attrs import field, frozen

Version = tuple[int, ...]
"""How new a state is: of two versions of one store, the larger one is the newer state."""


@frozen(kw_only=True)
class Observation:
    """What a look at the leader's beats shows. Two equal observations mean that the leader did nothing in between."""

    claimed: int
    """The newest term that was claimed; 0 if none ever was."""

    term: int
    """The term of the newest beat; 0 if there is none."""

    number: int
    """The number of that beat within its term."""

    body: bytes
    """What the leader wrote with it; empty if there is no beat."""

    version: Version = field(default=(), eq=False)
    """Version of the state."""


class Lease(ABC):
    """One leader's hold on the state, from its claim until a newer claim. May be called from any thread."""

    @property
    @abstractmethod
    def term(self) -> int:
        """The number of this claim; larger than all before it."""

    @property
    @abstractmethod
    def entries(self) -> Mapping[str, bytes]:
        """All acknowledged entries. A live view: changes appear in it when they are acknowledged."""

    version: Version = ()
    """The version of the state after the last acknowledged change or beat of this lease."""

    claimed_from: Version = ()
    """The version of the state that the claim found."""

    @abstractmethod
    def commit(self, changes: Mapping[str, bytes | None]) -> None:
        """Make all changes durable, or none of them; ``None`` removes a key.

        Raises:
            DeposedError: a newer term was claimed; the changes are not acknowledged.
            StateUnavailableError: the storage failed; whether the changes are durable is not known, and every later
                commit of this lease fails too.
        """

    @abstractmethod
    def beat(self, number: int, body: bytes) -> None:
        """Store a sign of life; when it returns, no newer term had been claimed after the beat was stored.

        Raises:
            DeposedError: a newer term was claimed.
            StateUnavailableError: the storage failed.
        """

    @abstractmethod
    def release(self) -> None:
        """Let go of the state without removing anything. Every later commit fails. May be called twice."""


class ClusterStore(ABC):
    """The store of one cluster's state. May be called from any thread."""

    @abstractmethod
    def describe(self) -> str:
        """Return where the state lies, for messages to users."""

    @abstractmethod
    def claim(self) -> Lease:
        """Claim the next term. From then on nothing that an older lease changes is acknowledged.

        Raises:
            DeposedError: another claim was faster.
            StateUnavailableError: the storage failed.
        """

    @abstractmethod
    def look(self) -> Observation:
        """Return the newest claim and beat, without claiming anything.

        Raises:
            StateUnavailableError: the storage failed.
        """

    @abstractmethod
    def read(self) -> Mapping[str, bytes]:
        """Return a copy of the entries, without claiming anything.

        It holds everything that was acknowledged before the call, and may hold changes that were made meanwhile.

        Raises:
            StateUnavailableError: the storage failed, or the entries changed too fast to be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Release what the store holds. May be called twice."""
