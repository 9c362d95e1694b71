"""The blocking side of a pipeline, where that is not seen by running one."""

import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.errors import SinkError
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef
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
