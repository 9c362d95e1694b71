"""The store of a cluster's state: what is acknowledged stays, terms fence, and reading claims nothing."""

import threading
from pathlib import Path

from seatunnel_storage_mapstore.journal import Limits

from tests.server.state.stores import local_store


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


def test_of_beats_that_a_dead_leader_left_the_newest_counts(tmp_path: Path) -> None:
    """The leader died between a beat and the removal of the one before; the next leader removes both."""
    leader = local_store(tmp_path).claim()
    for number in range(8):
        leader.renew(number, b"newest")
    beats = tmp_path / "cluster/test/engine_beats"
    assert len(list(beats.glob("*.beat"))) == 1
    (beats / f"{leader.term:010d}-{6:020d}.beat").write_bytes(b"old")
    assert local_store(tmp_path).observe().body == b"newest"
    local_store(tmp_path).claim().renew(0, b"next")
    assert [path.read_bytes() for path in beats.glob("*.beat")] == [b"next"]
