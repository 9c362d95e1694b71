"""The store of a cluster's state, wherever it lies: what is acknowledged stays, terms fence, reading claims nothing."""

import threading

import pytest

from seatunnel_core.server.errors import DeposedError, StateUnavailableError
from tests.server.state.stores import Place


def test_what_is_committed_is_there_for_the_next_leader(place: Place) -> None:
    first = place.open().claim()
    first.commit({"job/1": b"one", "job/2": b"two"})
    first.commit({"job/1": None, "job/3": b"x" * 200_000})
    second = place.open().claim()
    assert second.term > first.term
    assert dict(second.entries) == {"job/2": b"two", "job/3": b"x" * 200_000}


def test_an_older_term_neither_commits_nor_beats(place: Place) -> None:
    first = place.open().claim()
    first.renew(0, b"first")
    second = place.open().claim()
    with pytest.raises(DeposedError):
        first.renew(1, b"late")
    with pytest.raises(DeposedError):
        first.commit({"job/1": b"late"})
    second.renew(0, b"second")
    assert dict(second.entries) == {}
    seen = place.open().observe()
    assert (seen.claimed, seen.term, seen.number, seen.body) == (second.term, second.term, 0, b"second")


def test_a_look_shows_each_beat_and_claims_nothing(place: Place) -> None:
    watching = place.open()
    assert watching.observe() == watching.observe()
    assert watching.observe().term == 0
    leader = place.open().claim()
    assert watching.observe().claimed == leader.term
    for number in range(5):
        leader.renew(number, b"%d" % number)
        seen = watching.observe()
        assert (seen.term, seen.number, seen.body) == (leader.term, number, b"%d" % number)
    leader.commit({"job/1": b"still the leader"})


def test_a_reader_beside_a_change_of_leaders_sees_what_both_had_acknowledged(place: Place) -> None:
    store = place.open()
    for number in range(5):
        place.open().claim().commit({f"job/{number}": b"here"})
        assert store.read() == {f"job/{each}": b"here" for each in range(number + 1)}


def test_of_many_that_claim_at_once_one_leads(place: Place) -> None:
    leading, deposed = [], []

    def claim() -> None:
        try:
            lease = place.open().claim()
            lease.commit({"leader": b"%d" % lease.term})
            leading.append(lease)
        except DeposedError:
            deposed.append(1)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(leading) + len(deposed) == 6
    last = max(leading, key=lambda lease: lease.term)
    last.commit({"leader": b"still"})
    for lease in leading:
        if lease is not last:
            with pytest.raises(DeposedError):
                lease.commit({"leader": b"late"})


def test_after_release_nothing_is_acknowledged(place: Place) -> None:
    lease = place.open().claim()
    lease.release()
    lease.release()
    with pytest.raises(StateUnavailableError):
        lease.commit({"job/1": b"late"})


def test_the_state_is_as_large_as_what_lives_in_it(place: Place) -> None:
    """Three hundred jobs that come and go leave a log of a few segments, not 300 records."""
    lease = place.open().claim()
    for number in range(300):
        lease.commit({f"job/{number}": b"x" * 500})
        lease.commit({f"job/{number}": None})
        lease.renew(number, b"alive")
    lease.release()
    assert place.size_bytes() < 200_000
