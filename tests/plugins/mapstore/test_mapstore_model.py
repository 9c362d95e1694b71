"""Two writers and a reader of one map, interleaved at every primitive, with failures and deaths: nothing is lost.

The storage is in memory, so that a schedule can be replayed; compactions run at once instead of in their thread, for
the same reason. Threads, files and real processes have ``test_mapstore_store`` and ``test_mapstore_kill``.
"""

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from seatunnel_storage_mapstore import journal, pipeline_map, store

from seatunnel_storage_api.memory import MemoryStorage
from tests.plugins.mapstore.mapstore_players import FATES, LIMITS, PREFIX, Change, Oracle, Player, SteppedStorage, Steps

KEYS = st.sampled_from(["a", "b", "c"])
SETS = st.dictionaries(KEYS, st.sampled_from([b"1", b"22", b"a value outside the log"]), min_size=1, max_size=2)
REMOVALS = st.dictionaries(KEYS, st.none(), min_size=1, max_size=2)
SCRIPTS = st.lists(st.one_of(SETS, SETS, SETS, REMOVALS, st.just({})), max_size=8)
PLAYERS, TIMES = st.integers(0, 2), st.integers(1, 14)
PLAIN = st.builds(Steps, PLAYERS, TIMES)
FATED = st.builds(Steps, PLAYERS, TIMES, st.sampled_from(FATES))
SCHEDULES = st.lists(st.one_of(PLAIN, PLAIN, PLAIN, FATED), max_size=40)


class AtOnce:
    """Stands for a thread, and runs when it is started."""

    def __init__(self, *, target: Callable[..., object], args: tuple[object, ...], name: str) -> None:
        self._run = lambda: target(*args)

    def start(self) -> None:
        self._run()

    def join(self) -> None:
        pass


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_Compaction", AtOnce)
    monkeypatch.setattr(store, "INLINE_BYTES", 8)
    monkeypatch.setattr(pipeline_map, "_TAKEOVERS", 5)
    # A player who sleeps holds up all others. Only here: threads that other tests left in this process would spin.
    monkeypatch.setattr(pipeline_map, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))


def play(scripts: list[list[Change]], schedule: list[Steps]) -> None:
    blobs: dict[str, bytes] = {}
    SteppedStorage.archive.clear()
    oracle = Oracle()
    players = [Player(blobs, oracle, script, attempts) for script, attempts in zip(scripts, (4, 1, 4), strict=True)]
    for steps in schedule:
        for fate in ["runs"] * (steps.times - 1) + [steps.fate]:
            players[steps.player].step(fate)
    while not all(player.ended for player in players):
        for player in players:
            player.step("runs")
    last = store.LoggedMap(MemoryStorage(blobs), PREFIX, limits=LIMITS)
    found = last.load_all(last.load_all_keys())
    assert last._journal is not None
    oracle.opened(last._journal.epoch, found)
    last.destroy(delete_files=True)
    assert [key.rpartition("/")[0].rpartition("/")[2] for key in blobs] == ["epochs"]


@pytest.mark.fuzz
@given(st.tuples(SCRIPTS, SCRIPTS, SCRIPTS), SCHEDULES)
@example(([], [{}, {}], [{"a": b"a value outside the log", "b": b"1"}, {"a": b"1"}]), [])
def test_what_was_acknowledged_stays_and_what_failed_never_comes_back(
    scripts: tuple[list[Change], list[Change], list[Change]], schedule: list[Steps]
) -> None:
    play(list(scripts), schedule)
