"""Promise 10: all promises hold with many threads and processes in one namespace."""

import threading
from collections.abc import Callable
from functools import partial

from seatunnel_storage_api.errors import CheckpointConflictError, ManifestConflictError
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing import writer
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, at_once, checkpoint, claim


class Concurrency(StorageFixtures):
    """Promise 10, with up to six threads and three processes."""

    def test_p10_processes_never_claim_the_same_epoch(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str], storage: CheckpointStorage
    ) -> None:
        processes = [writer.start(factory, configuration, "claim", JOB, 15) for _ in range(3)]
        outputs = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0]
        claims = [[int(line) for line in output.split()] for output in outputs]
        assert all(each == sorted(each) for each in claims)
        everything = sorted(epoch for each in claims for epoch in each)
        assert len(set(everything)) == 45
        assert storage.newest_epoch(JOB, 1) == everything[-1]

    def test_p10_processes_with_jobs_of_their_own_do_not_disturb_each_other(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str], storage: CheckpointStorage
    ) -> None:
        jobs = ["one", "two"]
        processes = [writer.start(factory, configuration, "store", job, 30) for job in jobs]
        for process in processes:
            process.communicate()
        for job in jobs:
            states = storage.get_all_checkpoints(job)
            assert [state.checkpoint_id for state in states] == [27, 28, 29]
            assert all(state.states == writer.states_of(state.checkpoint_id) for state in states)

    def test_p10_threads_never_claim_the_same_epoch(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storages = [open_storage() for _ in range(6)]
        for _ in range(5):
            epochs = at_once(*(partial(claim, each) for each in storages))
            assert len({*map(str, epochs)}) == 6, epochs

    def test_p10_one_of_many_wins_a_key(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storages = [open_storage() for _ in range(6)]
        epoch = claim(storages[0])
        for number in range(5):
            outcomes = at_once(
                *(
                    partial(each.store_checkpoint, checkpoint(epoch, number, b"%d" % index))
                    for index, each in enumerate(storages)
                )
            )
            assert outcomes.count(None) == 1
            assert sum(isinstance(outcome, CheckpointConflictError) for outcome in outcomes) == 5
            stored = storages[0].get_checkpoint(JOB, 1, number)
            assert stored is not None
            assert stored.states == b"%d" % outcomes.index(None)

    def test_p10_one_of_many_claims_the_job(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        storages = [open_storage() for _ in range(6)]
        for version in range(1, 6):
            outcomes = at_once(*(partial(each.put_manifest, JOB, version, b"same") for each in storages))
            assert outcomes.count(None) == 1
            assert sum(isinstance(outcome, ManifestConflictError) for outcome in outcomes) == 5

    def test_p10_readers_never_see_a_part_or_a_gap(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        """Read while checkpoints are stored and expire, often between the reader's listing and its read."""
        writing, reading = open_storage(1), open_storage(1)
        epoch = claim(writing)
        writing.store_checkpoint(checkpoint(epoch, 0, writer.states_of(0)))
        done = threading.Event()
        progressed = [threading.Event(), threading.Event()]

        def write() -> int:
            try:
                for number in range(1, 80):
                    writing.store_checkpoint(checkpoint(epoch, number, writer.states_of(number)))
                for each in progressed:
                    each.wait(60)
            finally:
                done.set()
            return 79

        def load(seen: int) -> int:
            latest = reading.get_latest_checkpoint(JOB, 1)
            assert latest is not None
            assert latest.checkpoint_id >= seen
            assert latest.states == writer.states_of(latest.checkpoint_id)
            assert len(reading.get_all_checkpoints(JOB)) >= 1
            return latest.checkpoint_id

        def read(progress: threading.Event) -> int:
            seen = 0
            try:
                while not (seen or done.is_set()):
                    seen = load(seen)
            finally:
                progress.set()  # so that no thread waits for a failed reader
            while not done.is_set():
                seen = load(seen)
            return seen

        written, *read_up_to = at_once(write, *(partial(read, each) for each in progressed))
        assert written == 79
        assert all(isinstance(each, int) and each > 0 for each in read_up_to), read_up_to
