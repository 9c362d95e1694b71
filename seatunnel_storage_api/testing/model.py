"""Random histories of engines on one storage, compared with an oracle that knows the expected content.

The oracle shares no code with the storage: it records the base of each epoch as seen by the engines, and implements
the rules of lineage and retention independently.
"""

from collections.abc import Callable

import hypothesis
import pytest
from attrs import Factory, define, frozen
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from seatunnel_storage_api.errors import CheckpointConflictError, CheckpointCorruptedError, StaleEpochError
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.backdoor import Backdoor
from seatunnel_storage_api.testing.given import StorageFixtures, checkpoint

_RETAINED = 2
_TYPES = st.sampled_from(CheckpointType)

Key = tuple[int, int]


@define
class Oracle:
    """Expected content of one pipeline."""

    kept: dict[Key, PipelineState] = Factory(dict)
    base_of: dict[int, Key | None] = Factory(dict)
    """Base of each epoch: the latest checkpoint when an engine claimed the epoch."""

    newest_epoch: int = 0

    def latest(self) -> Key | None:
        """Return the largest existing (epoch, ID), or ``None``."""
        return max(self.kept) if self.kept else None

    def is_live(self, key: Key) -> bool:
        """Return True if the history of the latest checkpoint contains ``key``."""
        end = self.latest()
        while end is not None and key[0] < end[0] and any(epoch == end[0] for epoch, _ in self.kept):
            end = self.base_of[end[0]]
        return end is not None and key[0] == end[0] and key[1] <= end[1]

    def store(self, state: PipelineState) -> None:
        """Record a checkpoint and expire old ones once; the next store orphans checkpoints that this disconnects."""
        key = (state.epoch, state.checkpoint_id)
        self.kept[key] = state
        counted = self._counted()
        orphaned = sorted(each for each in counted if each != key and not self.is_live(each))
        older = sorted(each for each in counted if each < key and self.is_live(each))
        for each in (orphaned + older)[: max(len(counted) - _RETAINED, 0)]:
            del self.kept[each]

    def _counted(self) -> list[Key]:
        completed = [key for key in self._of(CheckpointType.COMPLETED_POINT) if self.is_live(key)]
        spared = {*self._of(CheckpointType.SAVEPOINT), *([max(completed)] if completed else []), *self._ways()}
        return [key for key in self.kept if key not in spared]

    def _ways(self) -> list[Key]:
        """Return the last checkpoint of each live epoch between the oldest live savepoint and the latest epoch."""
        living = [key for key in self.kept if self.is_live(key)]
        savepoints = [key for key in self._of(CheckpointType.SAVEPOINT) if self.is_live(key)]
        epochs = {epoch for epoch, _ in living if savepoints and min(savepoints)[0] < epoch < max(living)[0]}
        return [max(key for key in living if key[0] == epoch) for epoch in epochs]

    def _of(self, checkpoint_type: CheckpointType) -> list[Key]:
        return [key for key, state in self.kept.items() if state.checkpoint_type is checkpoint_type]


@frozen
class Engine:
    """A started engine: its pipeline, and the epoch that it claimed."""

    pipeline: int
    epoch: int


class History(RuleBasedStateMachine):
    """A history of starts, stores, late stores of fenced engines, deletions and damage, in any order."""

    engines = Bundle[Engine]("engines")
    open_storage: Callable[[], CheckpointStorage]
    backdoor: Backdoor
    games = 0

    @initialize()
    def begin(self) -> None:
        """Start a history with a new job and two pipelines."""
        type(self).games += 1
        self.job = f"game-{self.games:06d}"
        self.storage = self.open_storage()
        self.oracles = {1: Oracle(), 2: Oracle()}

    @rule(target=engines, pipeline=st.sampled_from([1, 2]), minimum=st.integers(0, 12))
    def start(self, pipeline: int, minimum: int) -> Engine:
        """Claim an epoch for a new engine, which continues from the latest checkpoint."""
        oracle = self.oracles[pipeline]
        epoch = self.storage.acquire_epoch(self.job, pipeline, minimum)
        assert epoch >= max(minimum, 1)
        assert epoch > oracle.newest_epoch
        oracle.newest_epoch = epoch
        oracle.base_of[epoch] = oracle.latest()
        return Engine(pipeline, epoch)

    @rule(engine=engines, number=st.integers(0, 9), kind=_TYPES, states=st.binary(max_size=3))
    def store(self, engine: Engine, number: int, kind: CheckpointType, states: bytes) -> None:
        """Store a checkpoint as one of the engines; the store succeeds, conflicts, or is too late."""
        oracle = self.oracles[engine.pipeline]
        base = oracle.base_of[engine.epoch]
        state = checkpoint(
            engine.epoch,
            number,
            states,
            job_id=self.job,
            pipeline_id=engine.pipeline,
            checkpoint_type=kind,
            base=None if base is None else CheckpointRef(*base),
        )
        there = oracle.kept.get((engine.epoch, number))
        if engine.epoch != oracle.newest_epoch:
            self._store_too_late(state, there)
        elif there is not None and there != state:
            with pytest.raises(CheckpointConflictError):
                self.storage.store_checkpoint(state)
        else:
            self.storage.store_checkpoint(state)
            oracle.store(state)

    def _store_too_late(self, state: PipelineState, there: PipelineState | None) -> None:
        """Store as a fenced engine, which must fail. The checkpoint may remain, or a conflict may be found first."""
        with pytest.raises((StaleEpochError, CheckpointConflictError)):
            self.storage.store_checkpoint(state)
        left = self.storage.get_checkpoint(self.job, state.pipeline_id, state.checkpoint_id, state.epoch)
        kept = self.oracles[state.pipeline_id].kept
        twins = [info for info in self._listed(state.pipeline_id) if info == (state.epoch, state.checkpoint_id)]
        assert len(twins) <= 1
        assert left in (state, there)
        kept.update({(each.epoch, each.checkpoint_id): each for each in (left,) if each is not None})

    @rule(pipeline=st.sampled_from([1, 2]), number=st.integers(0, 9))
    def delete(self, pipeline: int, number: int) -> None:
        """Delete the checkpoint with this ID in the newest epoch that contains it."""
        kept = self.oracles[pipeline].kept
        self.storage.delete_checkpoint(self.job, pipeline, number)
        kept.pop(max((key for key in kept if key[1] == number), default=(0, 0)), None)

    @rule()
    def delete_job(self) -> None:
        """Delete the job, which fences every engine."""
        self.storage.delete_job(self.job)
        for pipeline, oracle in self.oracles.items():
            oracle.kept.clear()
            newest = self.storage.newest_epoch(self.job, pipeline) or 0
            assert newest > oracle.newest_epoch or oracle.newest_epoch == 0
            oracle.newest_epoch = newest

    @rule(pipeline=st.sampled_from([1, 2]))
    def damage_the_newest(self, pipeline: int) -> None:
        """Damage the latest checkpoint, check the fallback, and repair it."""
        oracle = self.oracles[pipeline]
        newest = oracle.latest()
        if newest is None:
            return
        path = self._path_of(pipeline, newest)
        intact = self.backdoor.read(path)
        self.backdoor.write(path, intact[:-1])
        with pytest.raises(CheckpointCorruptedError):
            self.storage.get_latest_checkpoint(self.job, pipeline)
        others = [key for key in oracle.kept if key != newest and oracle.is_live(key)]
        if others:
            previous = self.storage.get_latest_checkpoint(self.job, pipeline, on_corrupted="previous")
            assert previous == oracle.kept[max(others)]
        else:
            with pytest.raises(CheckpointCorruptedError):
                self.storage.get_latest_checkpoint(self.job, pipeline, on_corrupted="previous")
        self.backdoor.write(path, intact)

    @rule()
    def reopen(self) -> None:
        """Continue with a new storage in the same namespace."""
        self.storage = self.open_storage()

    @invariant()
    def the_storage_holds_what_the_oracle_knows(self) -> None:
        """Compare the checkpoints, the latest one and the newest epoch of each pipeline with the oracle's."""
        for pipeline, oracle in self.oracles.items():
            everything = self.storage.get_all_checkpoints(self.job, pipeline)
            assert everything == tuple(oracle.kept[key] for key in sorted(oracle.kept))
            newest = oracle.latest()
            latest = self.storage.get_latest_checkpoint(self.job, pipeline)
            assert latest == (oracle.kept[newest] if newest else None)
            assert (self.storage.newest_epoch(self.job, pipeline) or 0) == oracle.newest_epoch

    def teardown(self) -> None:
        self.storage.delete_job(self.job)

    def _path_of(self, pipeline: int, key: Key) -> str:
        """Return the backend's path of a checkpoint, including parts that the backend inserts into the name."""
        name = f"{key[0]:010d}-{key[1]:020d}."
        candidates = [path for path in self.backdoor.paths() if self.job in path and name in path]
        (path,) = (p for p in candidates if f"{pipeline:06d}" in p.partition(self.job)[2].partition(name)[0])
        return path

    def _listed(self, pipeline: int) -> list[Key]:
        return [(info.epoch, info.checkpoint_id) for info in self.storage.list_checkpoints(self.job, pipeline)]


class Model(StorageFixtures):
    """Promises 3, 5, 7 and 8 together, in ``model_examples`` random histories, compared with an oracle."""

    def test_p03_p05_p07_p08_any_history(
        self, open_storage: Callable[..., CheckpointStorage], backdoor: Backdoor, seed: int
    ) -> None:
        machine = type("History", (History,), {"open_storage": lambda _: open_storage(_RETAINED), "backdoor": backdoor})
        run_state_machine_as_test(
            hypothesis.seed(seed)(machine),
            settings=settings(
                max_examples=self.model_examples,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            ),
        )
