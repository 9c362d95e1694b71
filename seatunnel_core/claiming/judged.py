"""Restore points of pipelines that have not written to a shared target, stored when this is decided (R4)."""

from attrs import evolve, frozen

from seatunnel_core.checkpoint.decisions.base import RestoreRequest, choose_base, savepoint_of
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.restoration import states_in
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.planning.settings import topology_of
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage


@frozen(kw_only=True)
class JudgedPipeline:
    """Pipeline of which an epoch is claimed, and its checkpoints at that time."""

    job_id: str
    number: int
    epoch: int
    checkpoints: tuple[CheckpointInfo, ...]
    states: VertexStates | str | None
    """States in the latest checkpoint: ``None`` if there is none, and a message if they cannot be read."""

    @classmethod
    def listed(cls, storage: CheckpointStorage, job_id: str, number: int, epoch: int) -> "JudgedPipeline":
        """List the checkpoints and read the latest one."""
        checkpoints = storage.scan(job_id, number).checkpoints
        latest = lineage.latest(checkpoints)
        states = None if latest is None else states_in(storage, latest)
        return cls(job_id=job_id, number=number, epoch=epoch, checkpoints=checkpoints, states=states)

    def restore_point(self, job: PlannedJob) -> PipelineState:
        """Return the restore point with the judged states."""
        base = choose_base(self.checkpoints, RestoreRequest())
        is_final = base.cut is not None and base.cut.checkpoint_type is CheckpointType.COMPLETED_POINT
        return PipelineState(
            job_id=self.job_id,
            pipeline_id=self.number,
            epoch=self.epoch,
            checkpoint_id=base.restore_point_id,
            checkpoint_type=CheckpointType.COMPLETED_POINT if is_final else CheckpointType.RESTORE_POINT,
            states=codec.encode(self._states_for(job)),
            base=base.ref,
        )

    def _states_for(self, job: PlannedJob) -> VertexStates:
        if self.states is None:
            pipeline = next(each for each in job.pipelines if each.id == self.number)
            return VertexStates.at_start(topology_of(pipeline))
        assert not isinstance(self.states, str), "a pipeline with unreadable states counts as one that has written"
        return self.states

    def request(self, request: RestoreRequest) -> RestoreRequest:
        """Return the request for the restore point if the latest checkpoint was requested, else the request itself."""
        latest = lineage.latest(self.checkpoints)
        if request.ref is None or latest is None:
            return request
        asked = savepoint_of(request.ref, self.checkpoints)
        is_latest = latest.ref == request.ref or (asked is not None and asked.ref == latest.ref)
        return evolve(request, ref=None) if is_latest else request


def keep_judged(storage: CheckpointStorage, judged: JudgedPipeline, job: PlannedJob) -> None:
    """Store the restore point: a checkpoint that the previous process stores later is orphaned for every process.

    Raises:
        StaleEpochError: Another process runs the job.
    """
    storage.store_checkpoint(judged.restore_point(job))
