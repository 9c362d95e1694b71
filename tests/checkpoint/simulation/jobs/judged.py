"""Restore points that a process stores when it claims the job, as the invariants of single pipelines see them (R4)."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.simulation.jobs.sight import Sight, Start

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.process import Process


def observe(sight: Sight, process: "Process", state: PipelineState) -> None:
    """Show the invariants a start that ends when its restore point is stored."""
    protocol = SimpleNamespace(phase=Phase.CLAIMING, progress=lambda: SimpleNamespace(uncommitted={}, pending=0))
    start = Start(process, cast("PipelineProtocol", protocol), RestoreRequest(), sight.scenario, epoch=state.epoch)
    sight.starts[state.epoch] = start

    def handle(event: Event, command: Command, after: Phase) -> None:
        before, protocol.phase = protocol.phase, after
        sight.shown(start, before, event, (command,))

    now_ms = sight.clock.now_ms
    store = commands.StoreCheckpoint(state=state, content=None)  # type: ignore[arg-type]
    handle(events.EpochClaimed(now_ms=now_ms, epoch=state.epoch), commands.ListCheckpoints(), Phase.LISTING)
    start.listed = () if state.base is None else (_info(sight, state.base),)
    listed = events.CheckpointsListed(now_ms=now_ms, checkpoints=start.listed, newest_epoch=state.epoch)
    if state.base is None:
        handle(listed, store, Phase.RESTORING)
        return
    cut = _cut(sight, state.base)
    handle(listed, commands.LoadCheckpoint(ref=cut.ref), Phase.LOADING)
    handle(events.CheckpointLoaded(now_ms=now_ms, state=cut), store, Phase.RESTORING)


def _cut(sight: Sight, ref: CheckpointRef) -> PipelineState:
    """The checkpoint that was taken with a savepoint, or the checkpoint itself."""
    states = {each.ref: each for each in sight.job.states.values() if each.pipeline_id == sight.id}
    if states[ref].checkpoint_type is not CheckpointType.SAVEPOINT:
        return states[ref]
    return states.get(CheckpointRef(ref.epoch, ref.checkpoint_id - 1), states[ref])


def _info(sight: Sight, ref: CheckpointRef) -> CheckpointInfo:
    state = next(each for each in sight.job.states.values() if (each.pipeline_id, each.ref) == (sight.id, ref))
    return CheckpointInfo(
        job_id=state.job_id, pipeline_id=sight.id, epoch=ref.epoch, checkpoint_id=ref.checkpoint_id,
        checkpoint_type=state.checkpoint_type, base=state.base, size_bytes=1, stored_at=None,
    )  # fmt: skip
