"""The store of a cluster's state: what is acknowledged stays, terms fence, and reading claims nothing."""

import threading
from pathlib import Path

import pytest
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_core.server.errors import DeposedError, StateUnavailableError
from tests.server.state.stores import local_store


def test_what_is_committed_is_there_for_the_next_leader(tmp_path: Path) -> None:
    first = local_store(tmp_path).claim()
    first.commit({"job/1": b"one", "job/2": b"two"})
    first.commit({"job/1": None, "job/3": b"x" * 200_000})
    second = local_store(tmp_path).claim()
    assert second.term > first.term
    assert dict(second.entries) == {"job/2": b"two", "job/3": b"x" * 200_000}


def test_an_older_term_neither_commits_nor_beats(tmp_path: Path) -> None:
    first = local_store(tmp_path).claim()
    first.beat(0, b"first")
    second = local_store(tmp_path).claim()
    with pytest.raises(DeposedError):
        first.beat(1, b"late")
    with pytest.raises(DeposedError):
        first.commit({"job/1": b"late"})
    second.beat(0, b"second")
    assert dict(second.entries) == {}
    seen = local_store(tmp_path).look()
    assert (seen.claimed, seen.term, seen.number, seen.body) == (second.term, second.term, 0, b"second")


def test_a_look_shows_each_beat_and_claims_nothing(tmp_path: Path) -> None:
    watching = local_store(tmp_path)
    assert watching.look() == watching.look()
    assert watching.look().term == 0
    leader = local_store(tmp_path).claim()
    assert watching.look().claimed == leader.term
    for number in range(5):
        leader.beat(number, b"%d" % number)
        seen = watching.look()
        assert (seen.term, seen.number, seen.body) == (leader.term, number, b"%d" % number)
    leader.commit({"job/1": b"still the leader"})
    beats = list((tmp_path / "cluster/test/engine_beats").glob("*.beat"))
    assert len(beats) == 1


def test_a_reader_beside_a_writer_that_compacts_sees_only_whole_and_acknowledged_states(tmp_path: Path) -> None:
    """The log is compacted every few commits while another process reads it. Each commit sets both keys, so that a
    reader that mixes two states is seen; what was acknowledged before a read began must be in it."""
    limits = Limits(segment_bytes=2_000, most_segments=4)
    leader = local_store(tmp_path, limits=limits).claim()
    leader.commit({"a": b"0", "b": b"0"})
    done = threading.Event()
    acknowledged = [0]

    def write() -> None:
        for number in range(1, 600):
            leader.commit({"a": b"%d" % number, "b": b"%d" % number, "ballast": b"x" * 300})
            acknowledged[0] = number
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    reader = local_store(tmp_path)
    reads = 0
    while not done.is_set():
        least = acknowledged[0]
        found = reader.read()
        assert found["a"] == found["b"]
        assert int(found["a"]) >= least
        reads += 1
    writer.join()
    assert reads > 0
    assert reader.read()["a"] == b"599"
    leader.commit({"a": b"the reader has claimed nothing"})


def test_a_reader_beside_a_change_of_leaders_sees_what_both_had_acknowledged(tmp_path: Path) -> None:
    store = local_store(tmp_path)
    for number in range(5):
        local_store(tmp_path).claim().commit({f"job/{number}": b"here"})
        assert store.read() == {f"job/{each}": b"here" for each in range(number + 1)}


def test_of_many_that_claim_at_once_one_leads(tmp_path: Path) -> None:
    leading, deposed = [], []

    def claim() -> None:
        try:
            tenure = local_store(tmp_path).claim()
            tenure.commit({"leader": b"%d" % tenure.term})
            leading.append(tenure)
        except DeposedError:
            deposed.append(1)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(leading) + len(deposed) == 6
    last = max(leading, key=lambda tenure: tenure.term)
    last.commit({"leader": b"still"})
    for tenure in leading:
        if tenure is not last:
            with pytest.raises(DeposedError):
                tenure.commit({"leader": b"late"})


def test_after_release_nothing_is_acknowledged(tmp_path: Path) -> None:
    tenure = local_store(tmp_path).claim()
    tenure.release()
    tenure.release()
    with pytest.raises(StateUnavailableError):
        tenure.commit({"job/1": b"late"})


def test_the_state_is_as_large_as_what_lives_in_it(tmp_path: Path) -> None:
    """Three hundred jobs that come and go leave a log of a few segments, not 300 records."""
    tenure = local_store(tmp_path, limits=Limits(segment_bytes=20_000, most_segments=16)).claim()
    for number in range(300):
        tenure.commit({f"job/{number}": b"x" * 500})
        tenure.commit({f"job/{number}": None})
        tenure.beat(number, b"alive")
    tenure.release()
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size < 200_000


def test_of_beats_that_a_dead_leader_left_the_newest_counts(tmp_path: Path) -> None:
    """The leader died between a beat and the removal of the one before; the next leader removes both."""
    leader = local_store(tmp_path).claim()
    leader.beat(7, b"newest")
    beats = tmp_path / "cluster/test/engine_beats"
    (beats / f"{leader.term:010d}-{6:020d}.beat").write_bytes(b"old")
    assert local_store(tmp_path).look().body == b"newest"
    local_store(tmp_path).claim().beat(0, b"next")
    assert [path.read_bytes() for path in beats.glob("*.beat")] == [b"next"]
