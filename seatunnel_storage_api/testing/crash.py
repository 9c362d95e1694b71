"""Promise 1 under ``kill -9``: acknowledged checkpoints exist and are complete; one in progress may exist."""

import random
from collections.abc import Callable

from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing import writer
from seatunnel_storage_api.testing.given import JOB, StorageFixtures


class Crash(StorageFixtures):
    """Promise 1, with writers in separate processes, one after the other, each killed at a random time."""

    def test_p01_a_killed_process_leaves_every_checkpoint_that_it_acknowledged(
        self,
        open_storage: Callable[..., CheckpointStorage],
        factory: CheckpointStorageFactory,
        configuration: dict[str, str],
        seed: int,
    ) -> None:
        chance = random.Random(seed)
        reading = open_storage()
        known: set[tuple[int, int]] = set()
        for crashes in range(1, self.crashes + 1):
            process = writer.start(factory, {**configuration, "max-retained": "100000"}, "store", JOB, 10_000)
            acknowledged = writer.kill(process, after_lines=chance.randint(1, 9), after_s=chance.uniform(0, 0.02))
            known |= {(int(epoch), int(number)) for epoch, number in (line.split() for line in acknowledged)}
            stored = {(state.epoch, state.checkpoint_id): state.states for state in reading.get_all_checkpoints(JOB)}
            assert len({epoch for epoch, _ in known}) == crashes, "a writer that continued after a crash acknowledged"
            assert known <= stored.keys()
            assert all(states == writer.states_of(number) for (_, number), states in stored.items())
            unknown = sorted(stored.keys() - known)
            assert len({epoch for epoch, _ in unknown}) == len(unknown), (
                "at most one unacknowledged checkpoint per writer"
            )
            latest = reading.get_latest_checkpoint(JOB, 1)
            assert latest is not None
            # The last request of a dead writer may reach a server between two readings.
            after = max((info.epoch, info.checkpoint_id) for info in reading.list_checkpoints(JOB, 1))
            assert max(stored) <= (latest.epoch, latest.checkpoint_id) <= after
