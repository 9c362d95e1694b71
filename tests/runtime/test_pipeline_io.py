"""The blocking side of a pipeline, where that is not seen by running one."""

import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.errors import SinkError
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from seatunnel_storage_api.testing.given import JOB, checkpoint


@pytest.mark.parametrize(("damaged", "intact"), [((1, 2), None), ((2,), CheckpointRef(1, 1))])
def test_what_can_be_gone_back_to_where_checkpoints_are_damaged(
    damaged: tuple[int, ...], intact: CheckpointRef | None
) -> None:
    """Where none can be read, a person was told of the storage's error, with the advice to take an older one."""
    storage = MemoryStorage()
    assert storage.acquire_epoch(JOB, 1, 1) == 1
    for number in (1, 2):
        storage.store_checkpoint(checkpoint(1, number))
    for key in list(storage.blobs):
        if any(f"{number:020d}." in key for number in damaged):
            storage.blobs[key] = storage.blobs[key][:-1]
    work = PipelineIO(
        job_id=JOB,
        planned=PlannedPipeline(id=1, sources=(), transforms=(), sinks=()),
        storage=storage,
        backend=None,  # type: ignore[arg-type]
        shares_disk=True,
    )
    assert work.newest_intact() == intact


def test_a_sink_that_cannot_roll_back_is_named_before_any_output_is_removed() -> None:
    sink = PlannedSink(name="out", ordinal=0, sink=ConsoleSink(options_of(ConsoleSink, {})), inputs=("in",))
    work = PipelineIO(
        job_id=JOB,
        planned=PlannedPipeline(id=1, sources=(), transforms=(), sinks=(sink,)),
        storage=MemoryStorage(),
        backend=None,  # type: ignore[arg-type]
        shares_disk=True,
    )
    with pytest.raises(SinkError, match="sink Console cannot roll back published output"):
        work.retract(2, {})


def test_a_savepoint_and_what_leads_to_it_do_not_delay_acknowledgements() -> None:
    """They are never removed. The last checkpoint of an epoch between a savepoint and now was taken for the oldest one
    that a job may go back to, so after two restarts a slot was never confirmed again."""
    storage = MemoryStorage(max_retained=2)
    work = PipelineIO(
        job_id=JOB,
        planned=PlannedPipeline(id=1, sources=(), transforms=(), sinks=()),
        storage=storage,
        backend=None,  # type: ignore[arg-type]
        shares_disk=True,
    )
    assert storage.acquire_epoch(JOB, 1, 1) == 1
    storage.store_checkpoint(checkpoint(1, 1, checkpoint_type=CheckpointType.SAVEPOINT))
    assert storage.acquire_epoch(JOB, 1, 2) == 2
    storage.store_checkpoint(checkpoint(2, 2, base=CheckpointRef(1, 1)))
    assert storage.acquire_epoch(JOB, 1, 3) == 3
    for number in (3, 4, 5):
        storage.store_checkpoint(checkpoint(3, number, base=CheckpointRef(2, 2)))
    assert [info.checkpoint_id for info in storage.list_checkpoints(JOB, 1)] == [1, 2, 4, 5]
    assert work._retained() == [4, 5]
