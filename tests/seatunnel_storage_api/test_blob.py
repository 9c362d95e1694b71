"""What only a storage that fails, stalls or is disturbed at the right moment shows."""

import errno
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from seatunnel_storage_api import layout
from seatunnel_storage_api.errors import (
    CheckpointConflictError,
    CheckpointCorruptedError,
    CheckpointStorageError,
    StorageAccessError,
    StorageClosedError,
    StorageUnavailableError,
)
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.state import CheckpointType, Manifest
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim, refs


class Disturbed(MemoryStorage):
    """Calls ``disturbance`` with the primitive's name and key before each primitive."""

    def __init__(self, max_retained: int = 3) -> None:
        super().__init__(max_retained=max_retained, before=lambda *call: self.disturbance(*call))
        self._backoff = Backoff(sleep=lambda _: None)
        self.disturbance: Callable[[str, str], object] = lambda operation, key: None

    def fail(self, operation: str, error: Exception, times: int = 1_000_000) -> None:
        left = iter(range(times))

        def disturb(called: str, _: str) -> None:
            if called == operation and next(left, None) is not None:
                raise error

        self.disturbance = disturb


@pytest.fixture
def storage() -> Iterator[Disturbed]:
    with Disturbed() as storage:
        yield storage


def test_what_passes_by_itself_is_not_noticed(storage: Disturbed) -> None:
    epoch = claim(storage)
    storage.fail("put", ConnectionResetError("reset"), times=3)
    storage.store_checkpoint(checkpoint(epoch, 1))
    assert refs(storage) == [(epoch, 1)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionResetError("gone"), StorageUnavailableError),
        (TimeoutError("late"), StorageUnavailableError),
        (OSError(errno.ENOSPC, "No space left on device"), StorageUnavailableError),
        (OSError(errno.EROFS, "Read-only file system"), StorageUnavailableError),
        (PermissionError(errno.EACCES, "Permission denied"), StorageAccessError),
        (StorageUnavailableError("503 Slow Down"), StorageUnavailableError),
        (StorageAccessError("403 AccessDenied"), StorageAccessError),
    ],
)
@pytest.mark.parametrize("operation", ["put", "read", "list"])
def test_a_failure_names_operation_path_and_backend_and_keeps_its_cause(
    storage: Disturbed, operation: str, error: Exception, kind: type[CheckpointStorageError]
) -> None:
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    storage.fail(operation, error)
    with pytest.raises(kind) as caught:
        storage.store_checkpoint(checkpoint(epoch, 2)) if operation != "read" else storage.get_latest_checkpoint(JOB, 1)
    assert f"cannot {operation} /seatunnel/checkpoint/{JOB}/000001/" in str(caught.value)
    assert "(memory)" in str(caught.value)
    assert str(error) in str(caught.value)
    assert caught.value.__cause__ is error
    assert caught.value.retryable is (kind is StorageUnavailableError)


def test_a_put_that_meets_its_own_success_claims_once(storage: Disturbed) -> None:
    """The answer to a put was lost; the repeated put finds the object there, and it is its own."""
    put, answers = storage.put_if_absent, iter([True])

    def lose_the_first_answer(key: str, body: bytes) -> bool:
        stored = put(key, body)
        if next(answers, False):
            raise TimeoutError("the answer was lost")
        return stored

    storage.put_if_absent = lose_the_first_answer  # type: ignore[method-assign]
    storage.put_manifest(JOB, 1, b"mine")
    manifest = storage.get_manifest(JOB)
    assert manifest is not None
    assert manifest.body == b"mine"


def test_a_claim_that_was_overtaken_is_made_again(storage: Disturbed) -> None:
    """Between our listing and our put another engine claims our number and one more, stores, and so removes the first
    marker. Our put succeeds: without a second look, two engines would have had the same epoch."""
    rival = MemoryStorage(storage.blobs)

    def overtake(operation: str, key: str) -> None:
        if operation == "put":
            storage.disturbance = lambda operation, key: None
            assert (claim(rival), claim(rival)) == (1, 2)
            rival.store_checkpoint(checkpoint(2, 1))
            assert rival.scan(JOB, 1).epochs == (2,)

    storage.disturbance = overtake
    assert claim(storage) == 3


def test_a_reader_lists_again_when_what_it_listed_was_removed(storage: Disturbed) -> None:
    epoch = claim(storage)
    for number in (1, 2):
        storage.store_checkpoint(checkpoint(epoch, number))
    writer = MemoryStorage(storage.blobs, max_retained=1)

    def prune_meanwhile(operation: str, key: str) -> None:
        if operation == "read":
            storage.disturbance = lambda operation, key: None
            writer.store_checkpoint(checkpoint(epoch, 3))

    for read in (
        lambda: storage.get_latest_checkpoint(JOB, 1),
        lambda: storage.get_all_checkpoints(JOB)[-1],
        lambda: storage.get_checkpoint(JOB, 1, 2) or storage.get_checkpoint(JOB, 1, 3),
    ):
        storage.disturbance = prune_meanwhile
        state = read()
        assert state is not None
        assert state.checkpoint_id == 3
        writer.delete_checkpoint(JOB, 1, 3)
        for number in (1, 2):
            storage.store_checkpoint(checkpoint(epoch, number))


def test_a_reader_gives_up_when_everything_it_lists_vanishes(storage: Disturbed) -> None:
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    storage.put_manifest(JOB, 1, b"")
    storage.read = lambda key: None  # type: ignore[method-assign]
    for verb in (
        lambda: storage.get_latest_checkpoint(JOB, 1),
        lambda: storage.get_checkpoint(JOB, 1, 1),
        lambda: storage.get_all_checkpoints(JOB),
        lambda: storage.get_manifest(JOB),
        lambda: storage.store_checkpoint(checkpoint(epoch, 1)),
    ):
        with pytest.raises(StorageUnavailableError, match=r"100"):
            verb()


def test_a_manifest_folder_with_foreign_files_only(storage: Disturbed) -> None:
    storage.blobs[storage.locate(f"{JOB}/manifest/notes.txt")] = b"mine"
    assert storage.get_manifest(JOB) is None


def test_old_manifests_go_and_the_newest_stays(storage: Disturbed) -> None:
    for version in range(1, 6):
        storage.put_manifest(JOB, version, b"body")
    foreign = storage.locate(f"{JOB}/manifest/notes.txt")
    storage.blobs[foreign] = b"mine"
    for below, left in ((4, [4, 5]), (1, [4, 5]), (100, [5])):
        storage.delete_manifests(JOB, below)
        versions = [layout.manifest_version(each.key) for each in storage.list_blobs("")]
        assert sorted(each for each in versions if each is not None) == left
    assert storage.get_manifest(JOB) == Manifest(version=5, body=b"body")
    assert storage.blobs[foreign] == b"mine"
    storage.delete_manifests("unknown", 9)


def test_a_prune_that_fails_is_reported_and_tried_again(storage: Disturbed, caplog: pytest.LogCaptureFixture) -> None:
    epoch = claim(storage)
    storage.fail("delete", PermissionError(errno.EACCES, "Permission denied"))
    for number in range(1, 6):
        storage.store_checkpoint(checkpoint(epoch, number))
    assert len(refs(storage)) == 5
    assert "Permission denied" in str(storage.prune_failures[JOB, 1])
    assert "will be retried" in caplog.text
    storage.disturbance = lambda operation, key: None
    storage.store_checkpoint(checkpoint(epoch, 6))
    assert refs(storage) == [(epoch, 4), (epoch, 5), (epoch, 6)]
    assert storage.prune_failures == {}


def test_a_prune_may_fail_in_any_way(storage: Disturbed) -> None:
    epoch = claim(storage)
    storage.fail("delete", ZeroDivisionError("a bug of the plugin"))
    for number in range(1, 6):
        storage.store_checkpoint(checkpoint(epoch, number))
    assert isinstance(storage.prune_failures[JOB, 1], ZeroDivisionError)


def test_two_objects_of_one_key_are_damage_until_one_is_removed(storage: Disturbed) -> None:
    """A crash between the put and the removal of a conflicting checkpoint leaves both."""
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    savepoint = checkpoint(epoch, 1, checkpoint_type=CheckpointType.SAVEPOINT)
    storage.fail("delete", KeyboardInterrupt())  # type: ignore[arg-type]
    with suppress(KeyboardInterrupt):
        storage.store_checkpoint(savepoint)
    storage.disturbance = lambda operation, key: None
    with pytest.raises(CheckpointCorruptedError, match=r"savepoint\.base-none\.ckpt"):
        storage.get_latest_checkpoint(JOB, 1)
    with pytest.raises(CheckpointCorruptedError, match="two objects"):
        storage.scan_job(JOB)
    del storage.blobs[storage.locate(layout.checkpoint_key(savepoint))]
    assert refs(storage) == [(epoch, 1)]


def test_a_conflict_is_found_by_a_stale_engine_too(storage: Disturbed) -> None:
    """Found by the model test: the stale engine's second object of the key stayed, and every listing failed."""
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    claim(storage)
    with pytest.raises(CheckpointConflictError):
        storage.store_checkpoint(checkpoint(epoch, 1, checkpoint_type=CheckpointType.SAVEPOINT))
    assert refs(storage) == [(epoch, 1)]


def test_a_sweep_that_fails_fails_nothing(storage: Disturbed, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(folder: str, before: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    storage.sweep_unfinished = refuse  # type: ignore[method-assign]
    assert claim(storage) == 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_what_is_built_on_the_primitives_fails_as_the_verbs_do(storage: Disturbed) -> None:
    storage.fail("read", TimeoutError("late"), times=2)
    assert storage.attempt("read", "a/b", lambda: storage.read("a/b")) is None
    storage.fail("read", TimeoutError("late"))
    with pytest.raises(StorageUnavailableError, match=r"cannot read /seatunnel/checkpoint/a/b \(memory\): late"):
        storage.attempt("read", "a/b", lambda: storage.read("a/b"))


def test_what_was_opened_to_look_only_is_not_changed(storage: Disturbed) -> None:
    stored = checkpoint(claim(storage), 1)
    storage.store_checkpoint(stored)
    storage.read_only = True
    with pytest.raises(StorageAccessError, match=r"was opened read-only.*without read-only: true"):
        storage.store_checkpoint(checkpoint(stored.epoch, 2))
    assert storage.get_latest_checkpoint(JOB, 1) == stored


def test_after_close_every_verb_says_so(storage: Disturbed) -> None:
    storage.close()
    for verb in (lambda: claim(storage), lambda: refs(storage), storage.list_jobs):
        with pytest.raises(StorageClosedError, match="closed"):
            verb()


def test_an_epoch_that_no_listing_shows_is_not_claimed(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "list_blobs", lambda prefix: ())
    with pytest.raises(StorageUnavailableError, match="not strongly consistent"):
        claim(storage)
