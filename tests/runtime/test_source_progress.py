"""Progress of sources between polls, and over restarts."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from seatunnel_core.connector_api.source_progress import SourceProgress
from seatunnel_core.runtime.source_progress import ProgressOfSources


class Counting:
    """A source that counts facts; its lag is that of the cursor."""

    calls = 0

    def absorb(self, cursor: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        return {**cursor, "read": [*cursor["read"], *(fact["chunk"] for fact in facts)]}

    def progress(self, cursor: Mapping[str, Any]) -> SourceProgress | None:
        self.calls += 1
        if not cursor:
            return None
        return SourceProgress(position=",".join(map(str, cursor["read"])), lag_seconds=cursor.get("lag"))


def followed(source: object) -> tuple[ProgressOfSources, list[float]]:
    now = [100.0]
    pipeline: Any = SimpleNamespace(sources=[SimpleNamespace(name="in", source=source)])
    return ProgressOfSources(pipeline, lambda: now[0]), now


def position(progress: ProgressOfSources) -> str:
    return progress.shown()["in"].position


def test_a_source_without_progress_shows_none() -> None:
    progress, _ = followed(object())
    progress.polled("in", {"read": []}, ())
    progress.read("in", ({"chunk": 1},))
    progress.restarted()
    assert progress.shown() == {}


def test_facts_count_before_the_next_poll() -> None:
    """The engine polls again only when all splits are in flight, which may be hundreds of chunks later."""
    progress, _ = followed(Counting())
    progress.read("in", ({"chunk": 0},))
    assert progress.shown() == {}, "nothing was polled yet"
    progress.polled("in", {"read": [0]}, ())
    progress.read("in", ({"chunk": 1},))
    progress.read("in", ())
    assert position(progress) == "0,1"
    progress.read("in", ({"chunk": 2},))
    assert position(progress) == "0,1,2"


def test_absorbed_facts_do_not_count_twice() -> None:
    progress, _ = followed(Counting())
    progress.polled("in", {"read": []}, ())
    progress.read("in", ({"chunk": 1}, {"chunk": 2}))
    progress.polled("in", {"read": [1]}, ({"chunk": 1},))
    assert position(progress) == "1,2"


def test_after_a_restart_only_the_next_poll_counts() -> None:
    """Units run again, and would report facts that the cursor of the earlier epoch contains."""
    progress, _ = followed(Counting())
    progress.polled("in", {"read": [0]}, ())
    progress.read("in", ({"chunk": 1},))
    progress.restarted()
    progress.read("in", ({"chunk": 0},))
    assert position(progress) == "0"
    progress.polled("in", {"read": [0]}, ())
    progress.read("in", ({"chunk": 1},))
    assert position(progress) == "0,1"


def test_a_lag_grows_while_nothing_is_polled() -> None:
    """Sinks that are slow also delay the next poll, and this is when a lag matters."""
    progress, now = followed(Counting())
    progress.polled("in", {"read": [], "lag": 2.0}, ())
    now[0] += 30
    assert progress.shown()["in"].lag_seconds == 32
    for lag in (0.0, None):
        progress.polled("in", {"read": [], "lag": lag}, ())
        now[0] += 30
        assert progress.shown()["in"].lag_seconds == lag


def test_progress_is_computed_once_for_each_state() -> None:
    source = Counting()
    progress, _ = followed(source)
    progress.polled("in", {"read": []}, ())
    assert [position(progress) for _ in range(5)] == [""] * 5
    assert source.calls == 1


def test_a_source_may_not_know_its_progress() -> None:
    progress, _ = followed(Counting())
    progress.polled("in", {}, ())
    assert progress.shown() == {}


def test_a_fault_of_a_source_does_not_reach_the_display() -> None:
    class Broken(Counting):
        def progress(self, cursor: Mapping[str, Any]) -> SourceProgress | None:
            raise ValueError("a fault of the plugin")

    progress, _ = followed(Broken())
    progress.polled("in", {"read": []}, ())
    assert progress.shown() == {}


def test_a_source_that_is_not_polled_any_more_is_not_up_to_date() -> None:
    progress, now = followed(Counting())
    progress.polled("in", {"read": [], "lag": 0.0}, ())
    now[0] += 29
    assert progress.shown()["in"].lag_seconds == 0
    now[0] += 31
    assert progress.shown()["in"].lag_seconds == 60
