"""What lies in a namespace, object by object, and whether each is what it was."""

from collections import Counter
from collections.abc import Iterable

import pytest

from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageAccessError
from seatunnel_storage_api.inventory import Holding, HoldingKind, holdings_despite_refusals
from seatunnel_storage_api.layout import Blob
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim


class Storage(MemoryStorage):
    """Its ``.tmp`` folders are not listed with the rest, as on local files."""

    def unfinished(self, prefix: str) -> Iterable[Blob]:
        return [Blob(key=f"{JOB}/000001/.hidden", size_bytes=3)]


@pytest.fixture
def storage() -> MemoryStorage:
    storage = Storage()
    storage.put_manifest(JOB, 1, b"{}")
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    storage.store_attachment(JOB, b"splits")
    storage.put_if_absent(f"{JOB}/000001/.tmp/x", b"half")
    storage.put_if_absent(f"{JOB}/000001/{1:010d}-1.ckpt", b"")
    storage.put_if_absent(f"{JOB}/000001/notes.txt", b"mine")
    storage.put_if_absent("README", b"mine")
    storage.put_if_absent(".probe-1", b"tried")
    storage.put_manifest("other", 7, b"{}")
    return storage


def one(storage: MemoryStorage, kind: HoldingKind) -> Holding:
    return next(holding for holding in storage.holdings(JOB) if holding.kind is kind)


def test_everything_is_listed_and_called_what_it_is(storage: MemoryStorage) -> None:
    found = storage.holdings()
    assert [holding.key for holding in found] == sorted(holding.key for holding in found)
    assert Counter(holding.kind for holding in found) == {
        **dict.fromkeys(set(HoldingKind) - {HoldingKind.UNREADABLE}, 1),
        HoldingKind.MANIFEST: 2,
        HoldingKind.FOREIGN: 2,
        HoldingKind.UNFINISHED: 3,
    }
    assert {holding.job_id for holding in found} == {JOB, "other", None}


def test_a_folder_that_is_refused_hides_no_other(storage: MemoryStorage) -> None:
    is_refused = {None, "refused"}

    def holdings_of(job_id: str | None) -> tuple[Holding, ...]:
        if job_id in is_refused:
            raise StorageAccessError("Permission denied")
        return storage.holdings(job_id)

    def listed(job_id: str | None) -> tuple[Holding, ...]:
        names = ["refused", "lost+found", "other", JOB]
        return holdings_despite_refusals(holdings_of, job_id, names=lambda: names, locate=storage.locate)

    assert listed(JOB) == storage.holdings(JOB)
    with pytest.raises(StorageAccessError, match="Permission denied"):
        listed("refused")
    found = listed(None)
    assert [each for each in found if each.job_id != "refused"] == [*storage.holdings(JOB), *storage.holdings("other")]
    (refused,) = (each for each in found if each.job_id == "refused")
    assert (refused.kind, refused.path) == (HoldingKind.UNREADABLE, storage.locate("refused/"))
    assert storage.verify(refused), "nothing of it is read"


def test_of_one_job(storage: MemoryStorage) -> None:
    assert {holding.job_id for holding in storage.holdings(JOB)} == {JOB}
    held = one(storage, HoldingKind.CHECKPOINT).checkpoint
    assert held is not None
    assert (held.epoch, held.checkpoint_id) == (1, 1)
    assert one(storage, HoldingKind.EPOCH).number == 1
    assert one(storage, HoldingKind.MANIFEST).number == 1
    assert len(one(storage, HoldingKind.ATTACHMENT).digest or "") == 64
    assert one(storage, HoldingKind.EPOCH).path.startswith("/seatunnel/checkpoint/job/000001/")


def test_what_is_intact_is_found_intact(storage: MemoryStorage) -> None:
    for holding in storage.holdings():
        if holding.kind is not HoldingKind.MISNAMED:
            assert storage.verify(holding)


def test_a_name_that_claims_too_much_is_damage(storage: MemoryStorage) -> None:
    assert one(storage, HoldingKind.MISNAMED).pipeline_id == 1
    with pytest.raises(CheckpointCorruptedError, match="does not match any kind of checkpoint"):
        storage.verify(one(storage, HoldingKind.MISNAMED))


@pytest.mark.parametrize("kind", [HoldingKind.CHECKPOINT, HoldingKind.EPOCH, HoldingKind.MANIFEST])
def test_each_kind_is_checked_against_its_seal_and_its_name(storage: MemoryStorage, kind: HoldingKind) -> None:
    holding = one(storage, kind)
    sealed = storage.blobs[holding.path]
    storage.blobs[holding.path] = sealed[:-1]
    with pytest.raises(CheckpointCorruptedError, match="SHA-256"):
        storage.verify(holding)
    storage.blobs[holding.path] = storage.blobs[one(storage, HoldingKind.ATTACHMENT).path]
    with pytest.raises(CheckpointCorruptedError, match="does not describe"):
        storage.verify(holding)


def test_what_was_removed_since_is_no_damage(storage: MemoryStorage) -> None:
    every = storage.holdings(JOB)
    storage.discard(every)
    storage.discard(every)
    assert [holding.key for holding in storage.holdings(JOB)] == [f"{JOB}/000001/.hidden"]
    assert not any(storage.verify(holding) for holding in every if holding.kind is HoldingKind.EPOCH)


def test_a_storage_has_nothing_unfinished_unless_it_says_so() -> None:
    assert list(MemoryStorage().unfinished("")) == []
