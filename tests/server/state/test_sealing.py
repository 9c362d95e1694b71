"""Records that are stored encrypted: what is on the disk, other keys, damage, and what earlier versions wrote."""

import logging
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.control.signing import Secret
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.state.cluster_state import SEALED, ClusterState, decode
from seatunnel_core.server.state.readers import Readers
from seatunnel_core.server.state.sealing import PLAIN, Seal, opened
from tests.server.state.stores import Place, local_store
from tests.server.state.test_cluster_state import a_job, an_end, the_state

SECRET, OTHER = Secret(b"a" * 64), Secret(b"b" * 64)
JOB = a_job(text="password = hunter2", variables={"p": "hunter3"})
ENDED = evolve(an_end("2"), error="refused hunter4", shown="password = hunter5")


def sealed_state(folder: Path, *secrets: Secret) -> ClusterState:
    """Return the state as a leader with these secrets claims it."""
    seal = Seal(secrets[0], secrets[1:]) if secrets else None
    return ClusterState(local_store(folder).claim(), expire_s=1_000.0, seal=seal)


def on_disk(folder: Path) -> bytes:
    """Return the bytes of all files below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def with_both(state: ClusterState) -> None:
    """Record a job that runs, and one that has ended."""
    state.put(JOB)
    state.put(a_job("2", text="password = hunter6"))
    state.end(ENDED)


def test_no_part_of_a_record_is_on_the_disk_and_the_next_leader_reads_it(tmp_path: Path) -> None:
    first = sealed_state(tmp_path, SECRET)
    first.protect(seals=True)
    with_both(first)
    first.update([evolve(JOB, host="h:1")])
    assert b"hunter" not in on_disk(tmp_path)
    second = sealed_state(tmp_path, SECRET)
    assert second.seals, "later leaders go on with it"
    assert (second.job("1"), second.ended("2")) == (evolve(JOB, host="h:1"), ENDED)
    assert second.rewrite(10) == 0
    second.put(a_job("3", text="hunter7"))
    assert b"hunter" not in on_disk(tmp_path)


def test_no_part_of_a_record_is_in_the_tables_of_a_database(place: Place) -> None:
    seal = Seal(SECRET)
    state = ClusterState(place.open().claim(), expire_s=1_000.0, seal=seal)
    state.protect(seals=True)
    with_both(state)
    stored = place.open().read()
    assert set(stored) == {"job/1", "history/2", SEALED}
    assert not any(b"hunter" in body for body in stored.values())
    assert decode(stored, seal).jobs == {"1": JOB}


def test_without_a_secret_records_are_plain_as_before(tmp_path: Path) -> None:
    state = the_state(tmp_path)
    state.protect(seals=True)
    with_both(state)
    assert not state.seals
    assert local_store(tmp_path).read() == {"job/1": JOB.to_bytes(), "history/2": ENDED.to_bytes()}


def test_records_of_an_earlier_version_are_read_and_encrypted_little_by_little(tmp_path: Path) -> None:
    with_both(the_state(tmp_path))
    state = sealed_state(tmp_path, SECRET)
    assert (state.job("1"), state.ended("2"), state.seals) == (JOB, ENDED, False)
    assert state.rewrite(10) == 0, "it goes on as it was"
    state.protect(seals=True)
    assert [state.rewrite(1) for _ in range(3)] == [1, 1, 0]
    assert not any(b"hunter" in body for body in local_store(tmp_path).read().values())
    again = sealed_state(tmp_path, SECRET)
    assert (again.job("1"), again.ended("2")) == (JOB, ENDED)
    assert b"hunter" not in on_disk(tmp_path), "the log is written anew by the next leader"


def test_records_become_plain_again_for_a_member_of_an_earlier_version(tmp_path: Path) -> None:
    state = sealed_state(tmp_path, SECRET)
    state.protect(seals=True)
    with_both(state)
    state.protect(seals=False)
    assert state.rewrite(10) == 2
    assert local_store(tmp_path).read() == {"job/1": JOB.to_bytes(), "history/2": ENDED.to_bytes()}


def test_records_under_the_old_secret_are_read_and_written_again_with_the_new_one(tmp_path: Path) -> None:
    before = sealed_state(tmp_path, OTHER)
    before.protect(seals=True)
    with_both(before)
    rotated = sealed_state(tmp_path, SECRET, OTHER)
    assert (rotated.job("1"), rotated.ended("2"), rotated.seals) == (JOB, ENDED, True)
    assert rotated.rewrite(10) == 2
    after = sealed_state(tmp_path, SECRET)
    assert (after.job("1"), after.ended("2"), after.rewrite(10)) == (JOB, ENDED, 0)


def test_records_under_an_unknown_key_are_reported_and_kept_and_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = sealed_state(tmp_path, OTHER)
    before.protect(seals=True)
    with_both(before)
    stored = local_store(tmp_path).read()
    state = sealed_state(tmp_path, SECRET)
    with caplog.at_level(logging.ERROR):
        state.log_problems()
    assert len(caplog.messages) == 1, "once for each reason, not for each record"
    assert "cannot read 2 entries of the cluster's state" in caplog.text
    assert Seal(OTHER).key_id in caplog.text
    assert "put the secret that was used for the encryption into config/cluster.secret.old" in caplog.text
    assert [bool(state.problem(job_id)) for job_id in "123"] == [True, True, False]
    state.put(a_job("3"))
    state.rewrite(10)
    state.expire(1e12)
    assert local_store(tmp_path).read().items() >= {key: stored[key] for key in ("job/1", "history/2")}.items()
    rescued = sealed_state(tmp_path, SECRET, OTHER)
    assert (rescued.job("1"), rescued.ended("2"), rescued.job("3")) == (JOB, ENDED, a_job("3"))


def test_a_node_without_a_secret_says_what_is_missing(tmp_path: Path) -> None:
    before = sealed_state(tmp_path, SECRET)
    before.protect(seals=True)
    before.put(JOB)
    assert f"the key {Seal(SECRET).key_id}, but this node has no config/cluster.secret" in sealed_state(
        tmp_path
    ).problem("1")


def test_each_value_has_a_nonce_of_its_own_and_belongs_to_its_entry() -> None:
    seal = Seal(SECRET)
    one, two = seal.close("job/1", b"text"), seal.close("job/1", b"text")
    assert one != two
    assert opened(seal, "job/1", one) == (b"text", seal.key_id)
    assert opened(seal, "job/1", JOB.to_bytes()) == (JOB.to_bytes(), PLAIN)
    with pytest.raises(StoredValueError, match="it was changed after it was encrypted"):
        opened(seal, "job/2", one)


@pytest.mark.parametrize(
    "body",
    [
        b'{"sealed":',
        b'{"sealed":1}',
        b'{"sealed":2,"key":"","body":""}',
        b'{"sealed":1,"key":"KEY","body":"?"}',
        b'{"sealed":1,"key":"KEY","body":""}',
        b'{"sealed":1,"key":"KEY","body":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}',
        b'{"sealed":1,"key":["KEY"],"body":""}',
    ],
)
def test_damage_is_an_error_of_that_value_only(body: bytes) -> None:
    seal = Seal(SECRET)
    found = decode({"job/1": body.replace(b"KEY", seal.key_id.encode()), "job/2": a_job("2").to_bytes()}, seal)
    assert (set(found.problems), set(found.jobs)) == ({"job/1"}, {"2"})


def test_neither_key_nor_secret_is_shown() -> None:
    seal = Seal(SECRET)
    assert "aaaa" not in repr(seal)
    assert seal.key_id != Seal(OTHER).key_id
    assert seal.key_id.encode() in seal.close("job/1", b"")


def test_the_leader_encrypts_when_every_master_has_said_that_it_can_read_it() -> None:
    readers = Readers()
    assert readers.wants_seals((), now=False), "it is alone"
    assert not readers.wants_seals({"a:1", "b:1"}, now=False), "nothing is known of them"
    assert readers.wants_seals({"a:1", "b:1"}, now=True), "what is encrypted stays so until one says that it cannot"
    readers.note("a:1", able=True)
    assert not readers.wants_seals({"a:1", "b:1"}, now=False)
    readers.note("b:1", able=False)
    assert not readers.wants_seals({"a:1", "b:1"}, now=True)
    assert readers.wants_seals({"a:1"}, now=False), "the one of the earlier version is gone"
    readers.note("b:1", able=True)
    assert readers.wants_seals({"a:1", "b:1"}, now=False)
    readers.forget()
    assert not readers.wants_seals({"a:1"}, now=False)
