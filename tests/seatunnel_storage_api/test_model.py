"""The model: one history played by hand, so that each of its rules is seen to work whatever chance brings, and many
without a storage, where what retention removes is all that there is to disagree about."""

import random

import pytest
from attrs import Factory, define
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_storage_api import retention
from seatunnel_storage_api.memory import MemoryStorageFactory
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineListing, PipelineState
from seatunnel_storage_api.testing.backdoor import DictionaryBackdoor
from seatunnel_storage_api.testing.given import checkpoint
from seatunnel_storage_api.testing.model import History, Key, Oracle
from tests.checkpoint.played import info_of


def test_every_rule_once() -> None:
    factory = MemoryStorageFactory()
    bound = {
        "open_storage": lambda _: factory.create({"max-retained": "2"}),
        "backdoor": DictionaryBackdoor(factory.blobs),
    }
    game = type("Game", (History,), bound)()
    game.begin()
    game.damage_the_newest(pipeline=1)
    first = game.start(pipeline=1, minimum=4)

    def store(engine: object, number: int, states: bytes = b"") -> None:
        game.store(engine=engine, number=number, kind=CheckpointType.CHECKPOINT, states=states)
        game.the_storage_holds_what_the_oracle_knows()

    store(first, 8)
    game.damage_the_newest(pipeline=1)
    store(first, 8, b"in conflict")
    store(first, 7)
    game.damage_the_newest(pipeline=1)
    store(first, 6)
    store(first, 9)
    assert sorted(game.oracles[1].kept) == [(4, 8), (4, 9)]
    second = game.start(pipeline=1, minimum=0)
    store(first, 5)
    store(second, 1)
    game.reopen()
    game.delete(pipeline=1, number=1)
    game.delete_job()
    game.the_storage_holds_what_the_oracle_knows()
    game.teardown()


@define
class Pipeline:
    """What the oracle says is there, and what retention leaves."""

    oracle: Oracle = Factory(Oracle)
    there: dict[Key, PipelineState] = Factory(dict)

    def start(self, epoch: int) -> None:
        self.oracle.newest_epoch = epoch
        self.oracle.base_of[epoch] = self.oracle.latest()

    def store(self, epoch: int, number: int, kind: CheckpointType) -> None:
        """By an engine that may have been replaced since: then its checkpoint stays, and it prunes nothing."""
        base = self.oracle.base_of[epoch]
        ref = None if base is None else CheckpointRef(*base)
        state = checkpoint(epoch, number, checkpoint_type=kind, base=ref)
        if self.there.setdefault((epoch, number), state) != state:
            return
        if epoch != self.oracle.newest_epoch:
            self.oracle.kept[epoch, number] = state
            return
        self.oracle.store(state)
        listing = PipelineListing(checkpoints=tuple(info_of(self.there[key]) for key in sorted(self.there)))
        for each in retention.prune(listing, stored=state.ref, max_retained=2).checkpoints:
            del self.there[each.epoch, each.checkpoint_id]


def test_a_line_that_pruning_interrupts_is_void_for_the_next_store() -> None:
    pipeline = Pipeline()
    pipeline.start(1)
    pipeline.store(1, 1, CheckpointType.COMPLETED_POINT)
    pipeline.start(2)
    pipeline.store(2, 2, CheckpointType.CHECKPOINT)
    pipeline.start(3)
    pipeline.store(3, 3, CheckpointType.CHECKPOINT)
    pipeline.store(3, 4, CheckpointType.CHECKPOINT)
    assert sorted(pipeline.oracle.kept) == sorted(pipeline.there) == [(1, 1), (3, 3), (3, 4)]
    pipeline.store(3, 5, CheckpointType.CHECKPOINT)
    assert sorted(pipeline.oracle.kept) == sorted(pipeline.there) == [(3, 4), (3, 5)]


@pytest.mark.fuzz
@given(seed=st.integers(0, 2**32))
def test_the_oracle_and_retention_agree(seed: int) -> None:
    chance, pipeline = random.Random(seed), Pipeline()
    engines = [0]
    for _ in range(chance.randrange(4, 40)):
        if engines == [0] or chance.random() < 0.3:
            engines.append(engines[-1] + chance.randint(1, 2))
            pipeline.start(engines[-1])
        else:
            late = chance.random() < 0.4
            epoch = chance.choice(engines[1:]) if late else engines[-1]
            pipeline.store(epoch, chance.randrange(10), chance.choice(list(CheckpointType)))
        assert sorted(pipeline.oracle.kept) == sorted(pipeline.there)
