"""What was acknowledged of the cluster's state, compared with what each new leader finds."""

from collections.abc import Callable, Mapping

from attrs import define

from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version

Body = bytes | None


class ViolationError(AssertionError):
    """An invariant does not hold."""


@define(eq=False)
class Change:
    """A commit under way, or one of which nobody knows whether it is durable."""

    term: int
    values: Mapping[str, Body]
    found: bool = True
    """Whether the next leader found it."""


class Ledger:
    """Acknowledged entries, and those in doubt.

    Args:
        on_change: called with the term, a key, and its durable value before and after.
    """

    def __init__(self, on_change: Callable[[int, str, Body, Body], None]) -> None:
        self.durable: dict[str, bytes] = {}
        self.term = 0
        """Of the newest leader that has read the state."""

        self.acknowledged = 0
        self._doubtful: list[Change] = []
        self._on_change = on_change

    def begun(self, term: int, values: Mapping[str, Body]) -> Change:
        """Take in that a commit begins."""
        change = Change(term, dict(values))
        if term >= self.term:
            self._doubtful.append(change)
        else:
            change.found = False
        return change

    def committed(self, change: Change) -> None:
        """Take in that it is acknowledged.

        Raises:
            ViolationError: a later leader has read the state without it.
        """
        if not change.found:
            raise ViolationError(f"a change of term {change.term} was acknowledged, and term {self.term} lacks it")
        self.acknowledged += 1
        if change.term < self.term:
            return  # it is in what the newer leader read
        self._doubtful = [each for each in self._doubtful if each is not change]
        for key, value in change.values.items():
            self._set(change.term, key, value)

    def claimed(self, term: int, entries: Mapping[str, bytes]) -> None:
        """Take in what a new leader found.

        Raises:
            ViolationError: something acknowledged is not there, or something was never written.
        """
        if term < self.term:
            return  # a newer one has read already
        for key in {*self.durable, *entries}:
            found = entries.get(key)
            if found != self.durable.get(key) and not any(
                key in each.values and each.values[key] == found for each in self._doubtful
            ):
                raise ViolationError(
                    f"the leader of term {term} finds {key} as {found!r}, acknowledged was {self.durable.get(key)!r}"
                )
        for each in self._doubtful:
            each.found = all(entries.get(key) == value for key, value in each.values.items())
        self._doubtful = [each for each in self._doubtful if each.term >= term]
        self.term = term
        for key in sorted({*self.durable, *entries}):
            if self.durable.get(key) != entries.get(key):
                self._set(term, key, entries.get(key))

    def _set(self, term: int, key: str, value: Body) -> None:
        before = self.durable.get(key)
        if value is None:
            self.durable.pop(key, None)
        else:
            self.durable[key] = value
        self._on_change(term, key, before, value)


class WatchedStore(ClusterStore):
    """A store whose leaders and changes stand in the ledger."""

    def __init__(self, store: ClusterStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    def describe(self) -> str:
        return self._store.describe()

    def claim(self) -> Lease:
        lease = self._store.claim()
        self._ledger.claimed(lease.term, dict(lease.entries))
        return WatchedLease(lease, self._ledger)

    def observe(self) -> Observation:
        return self._store.observe()

    def read(self) -> Mapping[str, bytes]:
        return self._store.read()

    def close(self) -> None:
        self._store.close()


class WatchedLease(Lease):
    """A leader's hold on the state, whose changes stand in the ledger."""

    def __init__(self, lease: Lease, ledger: Ledger) -> None:
        self._lease = lease
        self._ledger = ledger
        self.claimed_from = lease.claimed_from

    @property
    def version(self) -> Version:  # type: ignore[override]
        return self._lease.version

    @property
    def term(self) -> int:
        return self._lease.term

    @property
    def entries(self) -> Mapping[str, bytes]:
        return self._lease.entries

    def commit(self, changes: Mapping[str, Body]) -> None:
        change = self._ledger.begun(self.term, changes)
        self._lease.commit(changes)
        self._ledger.committed(change)

    def renew(self, number: int, body: bytes) -> None:
        self._lease.renew(number, body)

    def release(self) -> None:
        self._lease.release()
