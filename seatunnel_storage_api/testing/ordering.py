"""Promises 3 and 7: the latest checkpoint, and the identity of a key. Also tests a job's manifest and attachments."""

import hashlib

import pytest

from seatunnel_storage_api.errors import CheckpointConflictError, ManifestConflictError
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, Manifest, PipelineListing
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, checkpoint, claim, refs


class Ordering(StorageFixtures):
    """Promises 3 and 7, and the manifest and attachments of a job."""

    def test_p03_latest_is_the_largest_not_the_last(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        for number in (9, 10, 2):
            storage.store_checkpoint(checkpoint(epoch, number, b"%d" % number))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.checkpoint_id == 10
        assert refs(storage) == [(epoch, 2), (epoch, 9), (epoch, 10)]

    def test_p03_the_epoch_outweighs_the_id(self, storage: CheckpointStorage) -> None:
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 900))
        second = claim(storage)
        storage.store_checkpoint(checkpoint(second, 1, base=CheckpointRef(first, 900)))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.ref == CheckpointRef(second, 1)

    def test_p03_a_claimed_epoch_without_checkpoints_changes_nothing(self, storage: CheckpointStorage) -> None:
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 1))
        second = claim(storage)
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.ref == CheckpointRef(first, 1)
        listing = storage.scan(JOB, 1)
        assert (listing.newest_epoch, listing.epochs) == (second, (first, second))

    def test_p03_savepoints_count(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        storage.store_checkpoint(checkpoint(epoch, 2, checkpoint_type=CheckpointType.SAVEPOINT))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.checkpoint_type is CheckpointType.SAVEPOINT

    def test_p03_one_latest_for_each_pipeline(self, storage: CheckpointStorage) -> None:
        for pipeline in (12, 1, 2):
            epoch = claim(storage, pipeline_id=pipeline)
            storage.store_checkpoint(checkpoint(epoch, 1, pipeline_id=pipeline))
            storage.store_checkpoint(checkpoint(epoch, 2, pipeline_id=pipeline))
        claim(storage, pipeline_id=3)
        assert [(s.pipeline_id, s.checkpoint_id) for s in storage.get_latest_checkpoints(JOB)] == [
            (1, 2),
            (2, 2),
            (12, 2),
        ]
        everything = [(s.pipeline_id, s.checkpoint_id) for s in storage.get_all_checkpoints(JOB)]
        assert everything == [(1, 1), (1, 2), (2, 1), (2, 2), (12, 1), (12, 2)]
        assert [state.checkpoint_id for state in storage.get_all_checkpoints(JOB, 2)] == [1, 2]

    def test_p03_a_listing_has_all_but_the_states(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        base = CheckpointRef(epoch + 3, 8)
        savepoint = checkpoint(epoch, 4, b"x" * 5000, checkpoint_type=CheckpointType.SAVEPOINT, base=base)
        storage.store_checkpoint(savepoint)
        (info,) = storage.list_checkpoints(JOB, 1)
        assert (info.job_id, info.pipeline_id, info.ref, info.base) == (JOB, 1, CheckpointRef(epoch, 4), base)
        assert info.checkpoint_type is CheckpointType.SAVEPOINT
        assert 5000 < info.size_bytes < 6000
        assert storage.load(info) == savepoint
        assert storage.scan_job(JOB) == {1: storage.scan(JOB, 1)}

    def test_p07_the_same_again_is_nothing_new(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, b"same"))
        before = storage.scan(JOB, 1)
        storage.store_checkpoint(checkpoint(epoch, 1, b"same"))
        assert storage.scan(JOB, 1) == before

    @pytest.mark.parametrize(
        "other",
        [
            {"states": b"other"},
            {"checkpoint_type": CheckpointType.SAVEPOINT},
            {"base": CheckpointRef(1, 1)},
        ],
        ids=["states", "type", "base"],
    )
    def test_p07_the_same_key_with_other_content_is_a_conflict(
        self, storage: CheckpointStorage, other: dict[str, object]
    ) -> None:
        epoch = claim(storage)
        first = checkpoint(epoch, 5, b"first")
        storage.store_checkpoint(first)
        with pytest.raises(CheckpointConflictError):
            storage.store_checkpoint(checkpoint(epoch, 5, **{"states": b"first", **other}))  # type: ignore[arg-type]
        assert storage.get_all_checkpoints(JOB) == (first,)

    def test_p07_an_id_means_that_of_the_newest_epoch(self, storage: CheckpointStorage) -> None:
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 5, b"old"))
        second = claim(storage)
        storage.store_checkpoint(checkpoint(second, 5, b"new", base=CheckpointRef(first, 5)))
        newest, older = storage.get_checkpoint(JOB, 1, 5), storage.get_checkpoint(JOB, 1, 5, epoch=first)
        assert newest is not None
        assert older is not None
        assert (newest.states, older.states) == (b"new", b"old")
        storage.delete_checkpoint(JOB, 1, 5)
        assert refs(storage) == [(first, 5)]
        storage.delete_checkpoint(JOB, 1, 5, epoch=first)
        assert refs(storage) == []

    def test_p07_a_manifest_is_written_once(self, storage: CheckpointStorage) -> None:
        storage.put_manifest(JOB, 1, b"one")
        storage.put_manifest(JOB, 2, b"two")
        for body in (b"one", b"other"):
            with pytest.raises(ManifestConflictError):
                storage.put_manifest(JOB, 1, body)
        assert storage.get_manifest(JOB) == Manifest(version=2, body=b"two")

    def test_p07_an_attachment_is_named_by_its_content(self, storage: CheckpointStorage) -> None:
        digest = storage.store_attachment(JOB, b"splits")
        assert digest == hashlib.sha256(b"splits").hexdigest()
        assert storage.store_attachment(JOB, b"splits") == digest
        assert storage.get_attachment(JOB, digest) == b"splits"

    def test_p08_deleting_a_job_leaves_nothing_to_restore(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, checkpoint_type=CheckpointType.SAVEPOINT))
        claim(storage, pipeline_id=2)
        storage.put_manifest(JOB, 1, b"one")
        digest = storage.store_attachment(JOB, b"splits")
        storage.put_manifest("other", 1, b"one")
        assert storage.list_jobs() == (JOB, "other")
        for _ in range(2):
            storage.delete_job(JOB)
            assert storage.list_jobs() == ("other",)
            assert storage.get_manifest(JOB) is None
            assert storage.get_all_checkpoints(JOB) == ()
            assert [len(listing.epochs) for listing in storage.scan_job(JOB).values()] == [1, 1]
            with pytest.raises(LookupError):
                storage.get_attachment(JOB, digest)
        storage.put_manifest(JOB, 1, b"again")
        assert claim(storage) > epoch

    def test_p04_an_untouched_pipeline_is_an_empty_listing(self, storage: CheckpointStorage) -> None:
        assert storage.scan(JOB, 1) == PipelineListing()
        assert storage.list_jobs() == ()
