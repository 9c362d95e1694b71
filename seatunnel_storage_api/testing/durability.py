"""Promises 1 and 13: atomic writes that are durable when the call returns, from empty to large states."""

import threading
import tracemalloc
from collections.abc import Callable

import pytest

from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, at_once, checkpoint, claim, refs

_SLACK_BYTES = 2 * 2**20
"""Memory for everything except states, in bytes: at most half of a state, so that a third copy does not fit."""


class Durability(StorageFixtures):
    """Promises 1 and 13. ``large_state_bytes`` is the size of the large state."""

    @pytest.mark.parametrize("checkpoint_type", CheckpointType)
    def test_p01_what_was_stored_is_read_by_another_instance(
        self, open_storage: Callable[..., CheckpointStorage], checkpoint_type: CheckpointType
    ) -> None:
        writing = open_storage()
        epoch = claim(writing)
        stored = checkpoint(
            epoch, 7, bytes(range(256)), checkpoint_type=checkpoint_type, base=CheckpointRef(epoch + 5, 3)
        )
        writing.store_checkpoint(stored)
        assert open_storage().get_checkpoint(JOB, 1, 7) == stored

    def test_p01_closing_keeps_what_was_stored(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        with open_storage() as storage:
            stored = checkpoint(claim(storage), 1)
            storage.store_checkpoint(stored)
            digest = storage.store_attachment(JOB, b"splits")
        again = open_storage()
        assert again.get_all_checkpoints(JOB) == (stored,)
        assert again.get_attachment(JOB, digest) == b"splits"

    def test_p01_nobody_sees_a_part_of_what_is_being_written(
        self, open_storage: Callable[..., CheckpointStorage]
    ) -> None:
        """Read repeatedly while large checkpoints are written; each one is complete or absent."""
        writing, reading = open_storage(100), open_storage(100)
        epoch = claim(writing)
        states = [bytes([number]) * (self.large_state_bytes // 16) for number in range(4)]
        done = threading.Event()

        def write() -> int:
            try:
                for number, body in enumerate(states):
                    writing.store_checkpoint(checkpoint(epoch, number, body))
            finally:
                done.set()
            return len(states)

        def read() -> int:
            seen = 0
            while True:
                all_written = done.is_set()
                found = reading.get_all_checkpoints(JOB)
                assert all(each.states == states[each.checkpoint_id] for each in found)
                assert len(found) >= seen
                seen = len(found)
                if all_written:
                    return seen

        assert at_once(write, read) == [len(states)] * 2

    def test_p13_an_empty_state(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, b""))
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.states == b""

    def test_p13_a_large_state_takes_two_copies_at_most(self, storage: CheckpointStorage) -> None:
        epoch = claim(storage)
        allowed_bytes = 2 * self.large_state_bytes + min(_SLACK_BYTES, self.large_state_bytes // 2)
        tracemalloc.start()
        try:
            states = b"x" * self.large_state_bytes
            storage.store_checkpoint(checkpoint(epoch, 1, states))
            assert tracemalloc.get_traced_memory()[1] < allowed_bytes
            del states
            tracemalloc.reset_peak()
            latest = storage.get_latest_checkpoint(JOB, 1)
            assert tracemalloc.get_traced_memory()[1] < allowed_bytes
        finally:
            tracemalloc.stop()
        assert latest is not None
        assert latest.states == b"x" * self.large_state_bytes
        assert refs(storage) == [(epoch, 1)]
