"""Promises 2 and 4: damage is always detected, and never skipped unless requested."""

import hashlib

import pytest

from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointCorruptedError,
    StorageUsageError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.backdoor import Backdoor
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, checkpoint, claim


def _flipped(body: bytes, position: int) -> bytes:
    return body[:position] + bytes([body[position] ^ 0x20]) + body[position + 1 :]


class Sealing(StorageFixtures):
    """Promises 2 and 4, with data damaged through ``backdoor``."""

    def test_p02_a_flipped_byte_anywhere(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1, b"the states of every vertex"))
        path = backdoor.only(".ckpt")
        body = backdoor.read(path)
        for position in {*range(0, len(body), 11), len(body) - 1}:
            backdoor.write(path, _flipped(body, position))
            with pytest.raises(CheckpointCorruptedError):
                storage.get_latest_checkpoint(JOB, 1)

    @pytest.mark.parametrize("cut", [0, 1, 20, 33, -33, -32, -1])
    def test_p02_missing_bytes(self, storage: CheckpointStorage, backdoor: Backdoor, cut: int) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        path = backdoor.only(".ckpt")
        backdoor.write(path, backdoor.read(path)[:cut])
        with pytest.raises(CheckpointCorruptedError):
            storage.get_checkpoint(JOB, 1, 1)

    @pytest.mark.parametrize("extra", [b"\0", b"\n", b"x" * 32])
    def test_p02_extra_bytes(self, storage: CheckpointStorage, backdoor: Backdoor, extra: bytes) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        path = backdoor.only(".ckpt")
        body = backdoor.read(path)
        for damaged in (body + extra, extra + body, body[:50] + extra + body[50:]):
            backdoor.write(path, damaged)
            with pytest.raises(CheckpointCorruptedError):
                storage.get_all_checkpoints(JOB)

    def test_p02_an_intact_object_in_the_wrong_place(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, b"one"))
        one = backdoor.only(".ckpt")
        storage.store_checkpoint(checkpoint(epoch, 2, b"two"))
        (two,) = (path for path in backdoor.paths() if path.endswith(".ckpt") and path != one)
        backdoor.write(two, backdoor.read(one))
        with pytest.raises(CheckpointCorruptedError) as caught:
            storage.get_latest_checkpoint(JOB, 1)
        assert caught.value.info is not None
        assert caught.value.info.ref == CheckpointRef(epoch, 2)

    def test_p02_a_damaged_manifest_or_attachment(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        storage.put_manifest(JOB, 1, b"old")
        storage.put_manifest(JOB, 2, b"new")
        newest = max(path for path in backdoor.paths() if path.endswith(".manifest"))
        backdoor.write(newest, _flipped(backdoor.read(newest), 60))
        with pytest.raises(CheckpointCorruptedError):
            storage.get_manifest(JOB)
        digest = storage.store_attachment(JOB, b"splits")
        attachment = backdoor.only(".attachment")
        backdoor.write(attachment, backdoor.read(attachment)[:-1])
        with pytest.raises(CheckpointCorruptedError):
            storage.get_attachment(JOB, digest)
        with pytest.raises(CheckpointCorruptedError):
            storage.store_attachment(JOB, b"splits")

    def test_p02_a_file_name_that_only_looks_like_a_checkpoint(
        self, storage: CheckpointStorage, backdoor: Backdoor
    ) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        path = backdoor.only(".ckpt")
        backdoor.write(path.replace(".checkpoint.", ".from-the-future."), b"")
        with pytest.raises(CheckpointCorruptedError):
            storage.get_latest_checkpoint(JOB, 1)

    def test_p04_absence_is_none_or_empty(self, storage: CheckpointStorage) -> None:
        claim(storage)
        for job in (JOB, "never-seen"):
            assert storage.get_latest_checkpoint(job, 1) is None
            assert storage.get_latest_checkpoint(job, 1, on_corrupted="previous") is None
            assert storage.get_checkpoint(job, 1, 1) is None
            assert storage.get_latest_checkpoints(job) == ()
            assert storage.get_all_checkpoints(job) == ()
            assert storage.get_all_checkpoints(job, 1) == ()
            assert storage.list_checkpoints(job, 1) == ()
            assert storage.get_manifest(job) is None
            storage.delete_checkpoint(job, 1, 1)
            storage.delete_checkpoints(job, 1, [CheckpointRef(1, 1)])
        assert storage.newest_epoch("never-seen", 1) is None
        assert storage.scan_job("never-seen") == {}
        storage.delete_job("never-seen")
        with pytest.raises(AttachmentNotFoundError):
            storage.get_attachment(JOB, "0" * 64)

    def test_p04_a_damaged_newest_one_raises_unless_the_previous_is_asked_for(
        self, storage: CheckpointStorage, backdoor: Backdoor
    ) -> None:
        epoch = claim(storage)
        for number in (1, 2, 3):
            storage.store_checkpoint(checkpoint(epoch, number, b"%d" % number))
        paths = sorted(path for path in backdoor.paths() if path.endswith(".ckpt"))
        for path in paths[1:]:
            backdoor.write(path, _flipped(backdoor.read(path), 100))
        with pytest.raises(CheckpointCorruptedError):
            storage.get_latest_checkpoint(JOB, 1)
        with pytest.raises(CheckpointCorruptedError):
            storage.get_latest_checkpoints(JOB)
        damaged: list[CheckpointCorruptedError] = []
        state = storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous", report=damaged.append)
        assert state is not None
        assert state.states == b"1"
        assert [error.info and error.info.checkpoint_id for error in damaged] == [3, 2]
        backdoor.write(paths[0], b"")
        with pytest.raises(CheckpointCorruptedError, match="0003"):
            storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous")

    def test_p04_the_previous_one_is_never_void(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        """Fall back from a damaged 2-3 to its base 1-1, and not to 1-2, which is newer but orphaned."""
        first = claim(storage)
        storage.store_checkpoint(checkpoint(first, 1, b"base"))
        storage.store_checkpoint(checkpoint(first, 2, b"orphaned"))
        second = claim(storage)
        restore_point = checkpoint(
            second, 3, b"on", base=CheckpointRef(first, 1), checkpoint_type=CheckpointType.RESTORE_POINT
        )
        storage.store_checkpoint(restore_point)
        path = backdoor.only(f"base-{first}-1.ckpt")
        backdoor.write(path, backdoor.read(path) + b"!")
        state = storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous")
        assert state is not None
        assert state.states == b"base"

    def test_p04_a_newer_format_is_never_passed_over(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        storage.store_checkpoint(checkpoint(epoch, 2))
        path = max(path for path in backdoor.paths() if path.endswith(".ckpt"))
        body = bytearray(backdoor.read(path)[:-32])
        body[12:14] = b"\0\7"
        backdoor.write(path, bytes(body) + hashlib.sha256(body).digest())
        with pytest.raises(UnsupportedFormatError, match="version 7"):
            storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous")

    def test_p04_no_third_way_to_treat_damage(self, storage: CheckpointStorage) -> None:
        with pytest.raises(StorageUsageError, match="ignore"):
            storage.get_latest_checkpoint(JOB, 1, on_corrupted="ignore")  # type: ignore[arg-type]
