"""Writers and readers of one map that take turns at single primitives, and an oracle that knows what they may see."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from attrs import define, field, frozen
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.frames import Entry
from seatunnel_storage_mapstore.journal import Limits
from seatunnel_storage_mapstore.pipeline_map import PipelineMap
from seatunnel_storage_mapstore.store import LoggedMap, fetch

from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.errors import StaleEpochError, StorageUnavailableError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retry import Backoff

PREFIX = "map/"
LIMITS = Limits(segment_bytes=300, most_segments=3)
Values = dict[str, bytes]
Change = dict[str, bytes | None]
"""What a call sets, ``None`` for what it removes."""


class Killed(BaseException):
    """The process is gone."""


@frozen
class Steps:
    """Some primitives of one player in turn, and what happens to the last of them."""

    player: int
    times: int = 1
    fate: str = "runs"
    """``runs``, ``fails``, ``succeeds but says it failed``, ``dies before`` or ``dies after``."""


FATES = ("runs", "fails", "succeeds but says it failed", "dies before", "dies after")


@define(eq=False)
class Oracle:
    """What the map may hold, from what its users were told."""

    possible: list[Values] = field(factory=lambda: [{}])
    """Of the newest epoch that got ready."""

    epoch: int = 0
    doubtful: dict[int, Change] = field(factory=dict)
    """By number of the call: changes of that epoch that were begun and not acknowledged."""

    running: set[int] = field(factory=set)
    kept: set[int] = field(factory=set)
    """Calls that were running when a newer writer read the map, and whose change that writer has seen."""

    looks: dict[int, list[Values]] = field(factory=dict)
    """By number of the look: what the map may have held since it began."""

    def candidates(self) -> list[Values]:
        applied = [after(values, change) for values in self.possible for change in self.doubtful.values()]
        return self.possible + applied

    def opened(self, epoch: int, seen: Values) -> None:
        """A writer has read the map. What it did not see will never be seen."""
        if epoch < self.epoch:
            return  # overtaken by one that got ready first
        assert seen in self.candidates()
        for call, change in self.doubtful.items():
            if any(after(values, change) == seen for values in self.possible):
                self.kept.add(call)
        self.possible, self.epoch = [seen], epoch
        self.doubtful.clear()
        self._changed()

    def begun(self, epoch: int, call: int, change: Change) -> None:
        self.running.add(call)
        if epoch == self.epoch:
            self.doubtful[call] = change
            self._changed()

    def acknowledged(self, epoch: int, call: int, change: Change) -> None:
        self.running.discard(call)
        if epoch != self.epoch:  # a compaction or removal held the answer up; that the map was ours was seen before
            assert call in self.kept, "a writer was told that a change is durable, and a newer one has not read it"
            return
        self.doubtful.pop(call, None)
        self.possible = [after(values, change) for values in self.possible]
        self._changed()

    def failed(self, call: int) -> None:
        self.running.discard(call)

    def begin_read(self, call: int) -> None:
        """Somebody begins to read the map without being its writer."""
        self.looks[call] = self.candidates()

    def looked(self, call: int, seen: Values) -> None:
        """He saw the map as it was at some moment since; if nothing happened meanwhile, that settles what is there."""
        since = self.looks.pop(call)
        assert seen in since
        if since == self.candidates():
            self.possible = [seen]
            self.doubtful = {call: change for call, change in self.doubtful.items() if call in self.running}

    def _changed(self) -> None:
        for since in self.looks.values():
            since += self.candidates()


def after(values: Values, change: Change) -> Values:
    changed = {**values, **{key: value for key, value in change.items() if value is not None}}
    return {key: value for key, value in changed.items() if change.get(key, value) is not None}


class SteppedStorage(MemoryStorage):
    """Waits before each primitive until it may go on, and fails or dies there if it is to."""

    archive: ClassVar[dict[str, bytes]] = {}
    """All that was ever put: a value that a reader has seen named may be replaced before the test looks at it."""

    def __init__(self, blobs: dict[str, bytes], wait: Callable[[], str], attempts: int) -> None:
        super().__init__(blobs)
        self._backoff = Backoff(attempts=attempts, sleep=lambda _: None)
        self._wait = wait

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with self._fated():
            self.archive[self.locate(key)] = body
            return super().put_if_absent(key, body)

    def read(self, key: str) -> bytes | None:
        with self._fated():
            return super().read(key)

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        with self._fated():
            return super().list_blobs(prefix)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with self._fated():
                super().delete([key])

    @contextlib.contextmanager
    def _fated(self):  # type: ignore[no-untyped-def]
        fate = self._wait()
        if fate == "fails":
            raise ConnectionResetError("cut before it was done")
        if fate == "dies before":
            raise Killed
        yield
        if fate == "succeeds but says it failed":
            raise ConnectionResetError("cut after it was done")
        if fate == "dies after":
            raise Killed


class Player:
    """Plays a script in a thread of its own, one primitive at a time. After its death it begins again as a new process.

    A script is made of ``{}`` (look at the map without writing), and changes.
    """

    _calls = itertools.count(1)

    def __init__(self, blobs: dict[str, bytes], oracle: Oracle, script: list[Change], attempts: int) -> None:
        self.blobs = blobs
        self.oracle = oracle
        self.script = script
        self.attempts = attempts
        self.ended = False
        self.problem: BaseException | None = None
        self._map: LoggedMap | None = None
        self._fate = "runs"
        self._go = threading.Semaphore(0)
        self._waits = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()
        self._waits.acquire()

    def step(self, fate: str) -> None:
        """One primitive, and on to the next one."""
        if not self.ended:
            self._fate = fate
            self._go.release()
            self._waits.acquire()
        if self.problem is not None:
            raise self.problem

    def _wait(self) -> str:
        self._waits.release()
        self._go.acquire()
        fate, self._fate = self._fate, "runs"
        return fate

    def _play(self) -> None:
        failed = False
        try:
            for change in self.script:
                try:
                    self._call(change)
                except (StaleEpochError, Killed):
                    self._map = None
                except StorageUnavailableError:  # tries the same map once more, which must not write any more
                    self._map, failed = (None if failed else self._map), not failed
            if self._map is not None:
                with contextlib.suppress(Killed):
                    self._map.destroy()
        except BaseException as problem:
            self.problem = problem
        self.ended = True
        self._waits.release()

    def _call(self, change: Change) -> None:
        if not change:
            self._look()
            return
        if self._map is None:
            self._open()
        assert self._map is not None
        epoch = self._map._journal.epoch  # type: ignore[union-attr]
        call = next(self._calls)
        self.oracle.begun(epoch, call, change)
        try:
            _make(self._map, change)
        except BaseException:
            self.oracle.failed(call)
            raise
        self.oracle.acknowledged(epoch, call, change)

    def _open(self) -> None:
        opening = LoggedMap(SteppedStorage(self.blobs, self._wait, self.attempts), PREFIX, limits=LIMITS)
        opening.open()
        journal = opening._journal
        assert journal is not None
        self.oracle.opened(journal.epoch, everything(journal.entries))
        self._map = opening

    def _look(self) -> None:
        looking = PipelineMap(Folder(SteppedStorage(self.blobs, self._wait, self.attempts), PREFIX))
        call = next(self._calls)
        self.oracle.begin_read(call)
        entries = looking.entries()
        if looking._journal is None:
            self.oracle.looked(call, everything(entries))
        else:  # a claim without a writer stood in its way, so it took the map over
            self.oracle.opened(looking._journal.epoch, everything(entries))
            looking.close()


def _make(store: LoggedMap, change: Change) -> None:
    values = {key: value for key, value in change.items() if value is not None}
    if len(values) == len(change):
        store.store_all(values)
    else:
        store.delete_all([key for key in change if key not in values])


def everything(entries: Mapping[str, Entry]) -> Values:
    """The values behind the entries, as they were put."""
    folder = Folder(MemoryStorage(SteppedStorage.archive), PREFIX)
    values = {key: fetch(folder, entry) for key, entry in entries.items()}
    return {key: value for key, value in values.items() if value is not None}
