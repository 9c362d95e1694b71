"""All worlds of a few engines on a small pipeline, and the rules broken on purpose that they must show."""

import random
from collections.abc import Callable

import pytest

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexStates
from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.exhaustive.__main__ import SHORT
from tests.checkpoint.exhaustive.breakages import BREAKAGES, Breakage
from tests.checkpoint.exhaustive.explorer import FoundError, explore
from tests.checkpoint.exhaustive.model import Model
from tests.checkpoint.exhaustive.worlds import Bounds

AT_START = codec.encode(
    VertexStates(sources={"in": SourceState()}, tasks={"in": TaskState()}, sinks={"out": SinkState()})
)
MOST_STATES = 2_000_000


@pytest.mark.parametrize("bounds", SHORT, ids=str)
def test_every_rule_holds_in_every_world(bounds: Bounds) -> None:
    exploration = explore(Model(bounds))
    print(f"{bounds}: {exploration}")
    assert exploration.complete
    assert exploration.states > 1_000


@pytest.mark.mutants
@pytest.mark.parametrize("breakage", BREAKAGES, ids=str)
def test_a_broken_rule_is_found(breakage: Breakage, record_property: Callable[[str, object], None]) -> None:
    with breakage.broken(), pytest.raises(FoundError) as found:
        explore(breakage.model(breakage.bounds), MOST_STATES)
    states = found.value.exploration.states
    by = f"the exhaustive check, {found.value.rule}"
    record_property("mutant", (breakage.rule, breakage.what, by, f"{states:,} states"))


@pytest.mark.parametrize("retained", [1, 2, 3])
def test_the_storage_of_the_model_does_what_a_storage_does(retained: int) -> None:
    """The same claims and stores, by engines of any epoch, leave the same behind in both, and the same are refused."""
    rng = random.Random(retained)
    for _ in range(30):
        storage, model = MemoryStorage(max_retained=retained), Model(Bounds(engines=1, retained=retained))
        world = model.first()
        bases: list[CheckpointRef | None] = [None]
        for checkpoint_id in range(1, 15):
            if not world.markers or rng.random() < 0.3:
                listed = storage.scan("job", 1).checkpoints
                bases.append(listed[-1].ref if listed else None)
                assert storage.acquire_epoch("job", 1, 1) == len(bases) - 1
                world = world._replace(markers=(*world.markers, len(bases) - 1))
            epoch = rng.randrange(1, len(bases))
            state = PipelineState(
                job_id="job",
                pipeline_id=1,
                epoch=epoch,
                checkpoint_id=checkpoint_id,
                checkpoint_type=rng.choice([CheckpointType.CHECKPOINT, CheckpointType.COMPLETED_POINT]),
                states=AT_START,
                base=bases[epoch],
            )
            number = model.engines.number(state)
            world = model.stored(world, epoch - 1, number)
            if model.fenced(world, epoch - 1, number):
                with pytest.raises(StaleEpochError):
                    storage.store_checkpoint(state)
            else:
                storage.store_checkpoint(state)
                refs, epochs = model.too_much(world.stored, world.markers, number)
                world = world._replace(
                    stored=tuple(each for each in world.stored if each not in refs),
                    markers=tuple(each for each in world.markers if each not in epochs),
                )
            listing = storage.scan("job", 1)
            left = [model.engines.states[each].ref for each in world.stored]
            assert [info.ref for info in listing.checkpoints] == left
            assert listing.epochs == world.markers
