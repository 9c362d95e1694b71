"""The shape of a pipeline, and what is refused."""

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.decisions.base import RestoreRequest, choose_base
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.errors import UsageError
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType


def source(name: str, *sinks: str) -> SourceSpec:
    return SourceSpec(name=name, ordinal=0, sinks=sinks)


def sink(name: str) -> SinkSpec:
    return SinkSpec(name=name, ordinal=0)


@pytest.mark.parametrize(
    ("sources", "sinks", "said"),
    [
        ((), (), "at least one source"),
        ((source("a", "x"), source("a", "x")), (sink("x"),), "source names of a pipeline must be unique"),
        ((source("a", "x"),), (sink("x"), sink("x")), "sink names of a pipeline must be unique"),
        ((source("a"),), (sink("x"),), "source 'a' is not connected to a sink"),
        ((source("a", "y"),), (sink("x"),), r"feed \['y'\], but the pipeline's sinks are \['x'\]"),
        ((source("a", "x"),), (sink("x"), sink("y")), r"sinks are \['x', 'y'\]"),
        ((evolve(source("a", "x"), serial=True),), (sink("x"),), "source 'a' is serial but not ordered"),
        ((evolve(source("a", "x"), ordered=True, keyed=True),), (sink("x"),), "source 'a' is keyed but not serial"),
    ],
)
def test_what_cannot_work_is_named(sources: tuple[SourceSpec, ...], sinks: tuple[SinkSpec, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Topology(sources=sources, sinks=sinks)


def test_inputs_of_a_sink() -> None:
    topology = Topology(sources=(source("a", "x"), source("b", "x", "y")), sinks=(sink("x"), sink("y")))
    assert topology.inputs_of("x") == ("a", "b")
    assert topology.inputs_of("y") == ("b",)


def info(epoch: int, checkpoint_id: int) -> CheckpointInfo:
    return CheckpointInfo(
        job_id="job",
        pipeline_id=1,
        epoch=epoch,
        checkpoint_id=checkpoint_id,
        checkpoint_type=CheckpointType.CHECKPOINT,
        base=None,
        size_bytes=1,
        stored_at=1_000.0 - epoch,
    )


@pytest.mark.parametrize(
    ("listed", "ref", "restore_point_id"),
    [
        ([], None, 1),
        ([info(1, 4)], CheckpointRef(1, 4), 5),
        (
            [info(2, 3), info(1, 9), info(2, 2)],
            CheckpointRef(2, 3),
            10,
        ),  # a zombie's late 1-9 does not count, its id does
    ],
)
def test_the_base_is_the_largest_that_exists(
    listed: list[CheckpointInfo], ref: CheckpointRef | None, restore_point_id: int
) -> None:
    base = choose_base(listed, RestoreRequest())
    assert (base.ref, base.restore_point_id) == (ref, restore_point_id)
