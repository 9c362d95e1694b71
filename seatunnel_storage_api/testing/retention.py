"""Promise 5: ``max-retained`` limits the checkpoints of each pipeline."""

import errno
from collections.abc import Callable
from functools import partial

import pytest

from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, at_once, checkpoint, claim, refs


class Retention(StorageFixtures):
    """Promise 5, across restarts and with savepoints and completed points."""

    @pytest.mark.parametrize("max_retained", [1, 2, 5])
    def test_p05_never_more_than_max_retained(
        self, open_storage: Callable[..., CheckpointStorage], max_retained: int
    ) -> None:
        storage = open_storage(max_retained)
        epoch = claim(storage)
        for number in range(1, 8):
            storage.store_checkpoint(checkpoint(epoch, number))
            first = max(1, number + 1 - max_retained)
            assert refs(storage) == [(epoch, each) for each in range(first, number + 1)]

    def test_p05_it_survives_a_restart(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        for number in range(1, 8):
            storage = open_storage(2)
            storage.store_checkpoint(checkpoint(claim(storage), number))
        assert [number for _, number in refs(open_storage())] == [6, 7]

    def test_p05_each_pipeline_has_its_own(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storage = open_storage(1)
        for pipeline in (1, 2):
            storage.store_checkpoint(checkpoint(claim(storage, pipeline_id=pipeline), 1, pipeline_id=pipeline))
        assert len(refs(storage)) == len(refs(storage, pipeline_id=2)) == 1

    def test_p05_savepoints_and_the_newest_completed_point_stay(
        self, open_storage: Callable[..., CheckpointStorage]
    ) -> None:
        storage = open_storage(1)
        epoch = claim(storage)
        kinds = [CheckpointType.SAVEPOINT, CheckpointType.COMPLETED_POINT, CheckpointType.COMPLETED_POINT]
        for number, kind in enumerate([*kinds, CheckpointType.CHECKPOINT, CheckpointType.RESTORE_POINT]):
            storage.store_checkpoint(checkpoint(epoch, number, checkpoint_type=kind))
        assert refs(storage) == [(epoch, 0), (epoch, 2), (epoch, 4)]

    @pytest.mark.parametrize("max_retained", [1, 3])
    def test_p05_a_savepoint_can_be_restored_after_any_number_of_starts(
        self, open_storage: Callable[..., CheckpointStorage], max_retained: int
    ) -> None:
        """Check that each later epoch keeps a checkpoint: only checkpoint names show that the savepoint is live."""
        storage = open_storage(max_retained)
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 1, checkpoint_type=CheckpointType.SAVEPOINT))
        base, kept = CheckpointRef(first, 1), [CheckpointRef(first, 1)]
        for start in range(1, 5):
            epoch = claim(storage)
            for number in range(start * 10, start * 10 + 5):
                storage.store_checkpoint(checkpoint(epoch, number, base=base))
            assert kept == [ref for ref in sorted(lineage.live(storage.list_checkpoints(JOB, 1))) if ref.epoch < epoch]
            base = CheckpointRef(epoch, start * 10 + 4)
            kept.append(base)
        assert len(refs(storage)) == len(kept) - 1 + max_retained

    def test_p05_void_ones_go_first(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        """Expire checkpoints 4 and 5, which the first engine stored after the second had chosen 3 as its base."""
        storage = open_storage(5)
        first = claim(storage)
        for number in (1, 2, 3, 4, 5):
            storage.store_checkpoint(checkpoint(first, number))
        second = claim(storage)
        base = CheckpointRef(first, 3)
        storage.store_checkpoint(checkpoint(second, 6, base=base, checkpoint_type=CheckpointType.RESTORE_POINT))
        assert refs(storage) == [(first, 1), (first, 2), (first, 3), (first, 5), (second, 6)]
        storage.store_checkpoint(checkpoint(second, 7, base=base))
        assert refs(storage) == [(first, 1), (first, 2), (first, 3), (second, 6), (second, 7)]
        storage.store_checkpoint(checkpoint(second, 8, base=base))
        assert refs(storage) == [(first, 2), (first, 3), (second, 6), (second, 7), (second, 8)]

    def test_p05_what_was_just_stored_stays_and_so_does_what_is_newer(
        self, open_storage: Callable[..., CheckpointStorage]
    ) -> None:
        storage = open_storage(1)
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 9))
        storage.store_checkpoint(checkpoint(epoch, 3))
        assert refs(storage) == [(epoch, 3), (epoch, 9)]
        storage.store_checkpoint(checkpoint(epoch, 10))
        assert refs(storage) == [(epoch, 10)]

    def test_p05_stores_at_once_never_prune_each_other(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storage = open_storage(1)
        epoch = claim(storage)
        newest = 0
        for _ in range(10):
            stores = [checkpoint(epoch, newest + each, b"%d" % each) for each in (1, 2, 3, 4)]
            newest += len(stores)
            assert at_once(*(partial(storage.store_checkpoint, each) for each in stores)) == [None] * 4
            latest = storage.get_latest_checkpoint(JOB, 1)
            assert latest is not None
            assert latest.checkpoint_id == newest
        storage.store_checkpoint(checkpoint(epoch, newest + 1))
        assert refs(storage) == [(epoch, newest + 1)]

    def test_p05_markers_of_fenced_engines_do_not_pile_up(self, storage: CheckpointStorage) -> None:
        for number in range(1, 6):
            epoch = claim(storage)
            storage.store_checkpoint(checkpoint(epoch, number))
        assert storage.scan(JOB, 1).epochs == (epoch,)
        assert storage.prune_failures == {}

    def test_p05_a_prune_that_failed_is_reported_and_tried_again(
        self, open_storage: Callable[..., CheckpointStorage], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = open_storage(2)
        epoch = claim(storage)
        with self.failing(storage, monkeypatch, "delete", PermissionError(errno.EACCES, "no deletions today")):
            for number in range(1, 6):
                storage.store_checkpoint(checkpoint(epoch, number))
        assert refs(storage) == [(epoch, number) for number in range(1, 6)]
        assert list(storage.prune_failures) == [(JOB, 1)]
        assert "no deletions today" in str(storage.prune_failures[JOB, 1])
        storage.store_checkpoint(checkpoint(epoch, 6))
        assert refs(storage) == [(epoch, 5), (epoch, 6)]
        assert storage.prune_failures == {}

    def test_p05_a_reader_whose_checkpoint_was_removed_lists_again(
        self, open_storage: Callable[..., CheckpointStorage], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Expire the checkpoint between a reader's listing and its read, by storing a newer one."""
        writing, reading = open_storage(1), open_storage(1)
        epoch = claim(writing)
        readers: list[Callable[[], object]] = [
            lambda: reading.get_latest_checkpoint(JOB, 1),
            lambda: reading.get_all_checkpoints(JOB)[-1],
            lambda: reading.get_latest_checkpoints(JOB)[0],
        ]
        for round_, read in enumerate(readers):
            writing.store_checkpoint(checkpoint(epoch, 2 * round_))
            newer = checkpoint(epoch, 2 * round_ + 1)
            load, stores = reading.load, iter([newer])

            def load_too_late(info: CheckpointInfo) -> PipelineState | None:
                for state in stores:  # noqa: B023
                    writing.store_checkpoint(state)
                return load(info)  # noqa: B023

            with monkeypatch.context() as patches:
                patches.setattr(reading, "load", load_too_late)
                assert read() == newer
