"""State that is older than what a node has seen: a database that failed over and lost its last seconds, say."""

import contextlib
import json
import logging
import shutil
from pathlib import Path

import pytest

from seatunnel_core.server.errors import DeposedError, StateWentBackError
from seatunnel_core.server.state.newest_seen import REPORT_S, NewestSeenStore
from seatunnel_core.server.state.store import Lease, Version
from tests.server.state.stores import Place, local_store

BEAT = b'{"leader": "a", "acting": true, "members": []}'


def roll_back(place: Place, term: int, changes: int) -> None:
    """Set the cluster's row back, as a replica that lacks the last seconds has it."""
    assert place.server is not None
    with contextlib.closing(place.server.connect()) as connection, contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(f"UPDATE {place.prefix}_clusters SET term = {term}, changes = {changes}")
        connection.commit()


def test_a_follower_rejects_a_database_that_lacks_changes_it_has_seen(
    tables: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """It claimed the next term, read the older entries, and the jobs acknowledged since were gone without a word."""
    leader, now = tables.open().claim(), [0.0]
    follower = NewestSeenStore(tables.open(), clock=lambda: now[0])
    leader.commit({"job/1": b"x"})
    leader.commit({"job/2": b"x"})
    assert follower.observe().version == (1, 2) == follower.newest
    roll_back(tables, 1, 1)
    for action in (follower.observe, follower.claim, follower.observe):
        with pytest.raises(
            StateWentBackError, match=r"is older than the state that this node has seen \(version \(1, 1\)"
        ):
            action()
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(errors) == 1, "loud, and not once a second"
    assert "stop all nodes that may lead, start them again, and submit the missing jobs again" in errors[0].message
    now[0] += REPORT_S
    with pytest.raises(StateWentBackError):
        follower.observe()
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 2
    assert follower.problem
    roll_back(tables, 1, 2)  # the newer state was brought back
    assert follower.observe().version == (1, 2)
    assert follower.problem == ""


def test_a_claim_that_was_lost_is_noticed(tables: Place) -> None:
    follower = NewestSeenStore(tables.open())
    tables.open().claim()
    tables.open().claim()
    follower.observe()
    roll_back(tables, 1, 9)
    with pytest.raises(StateWentBackError):
        follower.claim()


def test_a_database_that_fails_over_between_the_look_and_the_claim_is_noticed(tables: Place) -> None:
    store = tables.open()
    follower = NewestSeenStore(store)
    leader = tables.open().claim()
    leader.commit({"job/1": b"x"})
    claim = store.claim

    def claim_after_failover() -> object:
        roll_back(tables, 1, 0)
        return claim()

    store.claim = claim_after_failover  # type: ignore[method-assign,assignment]
    with pytest.raises(StateWentBackError):
        follower.claim()


@pytest.mark.parametrize("step", ["commit", "beat"])
def test_a_leader_notices_that_its_own_changes_are_gone(tables: Place, step: str) -> None:
    leader = tables.open().claim()
    leader.commit({"job/1": b"x"})
    leader.renew(0, BEAT)
    roll_back(tables, 1, 0)
    with pytest.raises(StateWentBackError, match="this node does not lead"):
        leader.commit({"job/2": b"x"}) if step == "commit" else leader.renew(1, BEAT)


def test_a_leader_whose_database_was_replaced_by_an_empty_one_notices(tables: Place) -> None:
    leader = tables.open().claim()
    roll_back(tables, 0, 0)
    with pytest.raises(StateWentBackError):
        leader.renew(0, BEAT)


def test_a_newer_leader_deposes_and_is_no_older_state(tables: Place) -> None:
    leader = tables.open().claim()
    leader.commit({"job/1": b"x"})
    NewestSeenStore(tables.open()).claim()
    with pytest.raises(DeposedError):
        leader.renew(0, BEAT)


def beat_of(lease: Lease) -> bytes:
    return json.dumps({"leader": "b", "acting": True, "members": [], "claimed_from": lease.claimed_from}).encode()


def test_a_claim_of_the_older_state_does_not_make_it_newer(tables: Place) -> None:
    """A node that cannot be reached may claim it. The newer term was taken for the lost state, which had come back."""
    leader = tables.open().claim()
    leader.commit({"job/1": b"x"})
    leader.commit({"job/2": b"x"})
    follower = NewestSeenStore(tables.open())
    follower.observe()
    roll_back(tables, 1, 1)
    with pytest.raises(StateWentBackError):
        follower.observe()
    other = tables.open().claim()
    with pytest.raises(StateWentBackError):  # nothing shows yet what it was claimed from
        follower.observe()
    other.renew(0, beat_of(other))
    for action in (follower.observe, follower.claim):
        with pytest.raises(StateWentBackError, match=r"\(version \(1, 1\), but version \(1, 2\) was seen"):
            action()
    third = tables.open().claim()
    third.renew(0, beat_of(third))
    with pytest.raises(StateWentBackError):
        follower.observe()
    roll_back(tables, 1, 2)
    assert follower.observe().version == (1, 2)
    other = tables.open().claim()
    other.renew(0, beat_of(other))
    assert follower.observe().version == (2, 0)
    assert follower.problem == ""


def test_a_claim_of_the_newer_state_ends_the_report(tables: Place) -> None:
    leader = tables.open().claim()
    leader.commit({"job/1": b"x"})
    follower = NewestSeenStore(tables.open())
    follower.observe()
    roll_back(tables, 1, 0)
    with pytest.raises(StateWentBackError):
        follower.observe()
    roll_back(tables, 1, 1)  # it was brought back, and claimed before this node read it
    other = tables.open().claim()
    other.renew(0, beat_of(other))
    assert follower.observe().version == (2, 0)
    assert follower.problem == ""


@pytest.mark.parametrize("body", [BEAT, b"?", b'{"claimed_from": "?"}', b'{"claimed_from": [2, 0]}'])
def test_a_leader_of_the_last_version_does_not_say_what_it_claimed(tables: Place, body: bytes) -> None:
    tables.open().claim()
    follower = NewestSeenStore(tables.open())
    follower.remember((1, 5))
    with pytest.raises(StateWentBackError):
        follower.observe()
    tables.open().claim().renew(0, body)
    assert follower.observe().version == (2, 0)


def test_files_that_were_restored_from_a_copy_are_noticed(tmp_path: Path) -> None:
    store, follower = NewestSeenStore(local_store(tmp_path)), NewestSeenStore(local_store(tmp_path))
    leader = store.claim()
    leader.renew(0, BEAT)
    copy = tmp_path.with_name(f"{tmp_path.name}-copy")
    shutil.copytree(tmp_path, copy)
    leader.commit({"job/1": b"x"})
    leader.renew(1, BEAT)
    assert follower.observe().version == (1, 1, 1)
    shutil.rmtree(tmp_path)
    shutil.copytree(copy, tmp_path)
    for action in (follower.observe, follower.claim, lambda: leader.renew(2, BEAT)):
        with pytest.raises(StateWentBackError):
            action()


def test_a_node_that_starts_takes_over_what_others_have_seen(tmp_path: Path) -> None:
    """A restart of one node alone does not accept the loss."""
    leader = local_store(tmp_path).claim()
    leader.renew(0, BEAT)
    started = NewestSeenStore(local_store(tmp_path))
    seen: Version = (1, 1, 7)
    started.remember(seen)
    with pytest.raises(StateWentBackError):
        started.claim()


def test_a_state_that_only_grows_is_never_older(tmp_path: Path) -> None:
    stores = [NewestSeenStore(local_store(tmp_path)) for _ in range(3)]
    for number in range(6):
        lease = stores[number % 3].claim()
        lease.commit({f"job/{number}": b"x"})
        for beat in range(3):
            lease.renew(beat, BEAT)
            assert len({each.observe().version for each in stores}) == 1
