"""Promise 8: of two engines on one pipeline, the older one detects the newer one."""

from collections.abc import Callable

import pytest

from seatunnel_storage_api import lineage
from seatunnel_storage_api.errors import InvalidIdError, StaleEpochError
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.backdoor import Backdoor
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, at_once, checkpoint, claim, refs


class Fencing(StorageFixtures):
    """Promise 8, with engines that are replaced at each point of a store."""

    def test_p08_every_claim_is_larger_and_at_least_the_minimum(self, storage: CheckpointStorage) -> None:
        assert storage.newest_epoch(JOB, 1) is None
        assert storage.acquire_epoch(JOB, 1, 0) == 1
        assert storage.acquire_epoch(JOB, 1, 300_000) == 300_000
        assert storage.acquire_epoch(JOB, 1, 200_000) == 300_001
        assert storage.newest_epoch(JOB, 1) == 300_001
        assert storage.acquire_epoch(JOB, 2, 7) == 7
        with pytest.raises(InvalidIdError):
            storage.acquire_epoch(JOB, 1, -1)

    def test_p08_a_claim_stays_below_its_bound_or_is_none(self, storage: CheckpointStorage) -> None:
        """Claim below a limit until a newer engine claims above it, and then take over the pipeline without a limit."""
        assert storage.acquire_epoch(JOB, 1, 100, below=200) == 100
        assert storage.acquire_epoch(JOB, 1, 300, below=400) == 300
        with pytest.raises(StaleEpochError, match="claimed epoch 300"):
            storage.acquire_epoch(JOB, 1, 101, below=200)
        assert storage.newest_epoch(JOB, 1) == 300
        assert storage.acquire_epoch(JOB, 2, 101, below=200) == 101

    def test_p08_a_claim_is_larger_than_every_checkpoint_too(self, storage: CheckpointStorage) -> None:
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(50, 1))
        assert claim(storage) > 50

    def test_p08_the_older_engine_hears_it(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        older, newer = open_storage(), open_storage()
        old_epoch = claim(older)
        older.store_checkpoint(checkpoint(old_epoch, 1))
        new_epoch = claim(newer)
        with pytest.raises(StaleEpochError):
            older.store_checkpoint(checkpoint(old_epoch, 2))
        with pytest.raises(StaleEpochError):
            older.store_checkpoint(checkpoint(old_epoch, 1))
        newer.store_checkpoint(checkpoint(new_epoch, 3))
        with pytest.raises(StaleEpochError):
            older.store_checkpoint(checkpoint(old_epoch, 4))
        latest = newer.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.epoch == new_epoch

    def test_p08_a_stale_store_prunes_nothing(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storage = open_storage(1)
        old_epoch = claim(storage)
        storage.store_checkpoint(checkpoint(old_epoch, 1))
        claim(storage)
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(old_epoch, 2))
        assert (old_epoch, 1) in refs(storage)

    def test_p08_without_a_marker_nothing_is_acknowledged(self, storage: CheckpointStorage) -> None:
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(1, 1))

    def test_p08_an_engine_whose_marker_is_gone_hears_it(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        backdoor.delete(backdoor.only(".epoch"))
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(epoch, 2))

    def test_p08_a_start_leaves_a_restore_point_that_names_its_base(
        self, open_storage: Callable[..., CheckpointStorage]
    ) -> None:
        older, newer = open_storage(), open_storage()
        first = claim(older)
        older.store_checkpoint(checkpoint(first, 1))
        older.store_checkpoint(checkpoint(first, 2))
        second = claim(newer)
        base = newer.list_checkpoints(JOB, 1)[-1].ref
        newer.store_checkpoint(checkpoint(second, 3, base=base, checkpoint_type=CheckpointType.RESTORE_POINT))
        listing = older.scan(JOB, 1)
        assert (listing.newest_epoch, base) == (second, CheckpointRef(first, 2))
        restore_point = listing.checkpoints[-1]
        assert (restore_point.ref, restore_point.base) == (CheckpointRef(second, 3), base)
        assert restore_point.checkpoint_type is CheckpointType.RESTORE_POINT
        assert len(lineage.live(listing.checkpoints)) == 3

    def test_p08_a_zombies_late_checkpoint_stays_void(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        """Check that a late checkpoint remains orphaned, for any ID and any number of expired checkpoints."""
        storage = open_storage(2)
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 1))
        second, base = claim(storage), CheckpointRef(first, 1)
        storage.store_checkpoint(checkpoint(second, 2, base=base, checkpoint_type=CheckpointType.RESTORE_POINT))
        for number in (3, 4, 5):
            with pytest.raises(StaleEpochError):
                storage.store_checkpoint(checkpoint(first, 100 + number))
            storage.store_checkpoint(checkpoint(second, number, base=base))
        assert refs(storage) == [(second, 4), (second, 5)]
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(first, 900))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.ref == CheckpointRef(second, 5)
        assert lineage.orphaned(storage.list_checkpoints(JOB, 1)) <= {CheckpointRef(first, 900)}

    def test_p08_an_engine_whose_job_was_deleted_hears_it(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        storage.delete_job(JOB)
        with pytest.raises(StaleEpochError):
            storage.store_checkpoint(checkpoint(epoch, 2))

    def test_p08_one_of_the_two_always_sees_the_other(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        """Let the old engine put and list while the new one claims and lists; at least one must see the other."""
        older, newer = open_storage(1000), open_storage(1000)
        for number in range(40):
            epoch = claim(older)

            def claim_and_look() -> bool:
                claim(newer)
                return any(info.checkpoint_id == number for info in newer.list_checkpoints(JOB, 1))  # noqa: B023

            stored, seen = at_once(
                lambda: older.store_checkpoint(checkpoint(epoch, number)),  # noqa: B023
                claim_and_look,
            )
            assert isinstance(stored, StaleEpochError) or seen is True
