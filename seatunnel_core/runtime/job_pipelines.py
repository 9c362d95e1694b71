"""Creation of the pipelines of a claimed job: plugins, protocol and restored state."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from attrs import field, frozen

from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.claiming.claim import Claim
from seatunnel_core.config.engine import EngineConfig
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.planning.settings import checkpoint_policy, restart_policy, topology_of
from seatunnel_core.reporting.notices import PipelineLog
from seatunnel_core.runtime.job_tables import JobTables
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_core.runtime.pipeline_run import PipelineOwner, PipelineRun
from seatunnel_core.runtime.save_modes import SaveModes
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_storage_api.storage import CheckpointStorage


@frozen(kw_only=True, slots=False)
class JobPipelines:
    """Factory for the pipelines of a job."""

    job_id: str
    claim: Claim
    """The claimed job, with the restore request of each pipeline."""

    engine: EngineConfig
    storage: CheckpointStorage = field(repr=False)
    backend: SparkBackend = field(repr=False)
    shares_disk: bool
    """True if tasks are expected to run on the driver's machine, as determined before Spark starts."""

    restored: bool
    """True if an earlier process ran the job."""

    def make(self, shared: SharedResources, owner: PipelineOwner) -> list[PipelineRun]:
        """Return a ``PipelineRun`` for each pipeline, in the order of the plan, without starting it."""
        restarts, save_modes, job_tables = restart_policy(self.claim.job), SaveModes(), JobTables(self.claim.published)
        return [
            PipelineRun(
                work=self._work(planned, save_modes, job_tables),
                shared=shared,
                protocol_of=self._protocols(planned),
                restart_policy=restarts,
                owner=owner,
                log=PipelineLog(self.job_id, planned.id),
            )
            for planned in self.claim.job.pipelines
        ]

    @cached_property
    def checkpoints(self) -> CheckpointPolicy:
        """Checkpoint policy of all pipelines of the job."""
        return checkpoint_policy(self.claim.job, self.engine)

    @cached_property
    def _recognised_before(self) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Values of ``SinkContext.recognised_before`` by sink, computed once for all pipelines."""
        return self.claim.job.manifest.tracks

    def _work(self, planned: PlannedPipeline, save_modes: SaveModes, job_tables: JobTables) -> PipelineIO:
        return PipelineIO(
            job_id=self.job_id,
            planned=planned,
            storage=self.storage,
            backend=self.backend,
            shares_disk=self.shares_disk,
            settled_below=self.claim.job.manifest.settled_below,
            increment=self._increment(planned),
            recognised_before=self._recognised_before,
            save_modes=save_modes,
            job_tables=job_tables,
        )

    def _increment(self, planned: PlannedPipeline) -> str:
        """Describe the increment that a pipeline reads; return ``""`` if it reads everything."""
        manifest = self.claim.job.manifest
        for source in planned.sources:
            window = manifest.windows.get(source.name)
            if window is not None and window.after is not None:
                return (
                    f"the source {source.name!r} reads only rows after {window.after.value} (to read all rows, run "
                    f"`seatunnel state reset {manifest.state_name}` before the job)"
                )
        return ""

    def _protocols(self, planned: PlannedPipeline) -> Callable[[int], PipelineProtocol]:
        topology, limits = topology_of(planned), Limits().within(self.checkpoints.interval_ms)
        asked = self.claim.restores.get(planned.id, RestoreRequest())
        restore = asked.of_process(since=self.claim.epoch_minimum(0), is_restored=self.restored)

        def protocol(restarts: int) -> PipelineProtocol:
            return PipelineProtocol(
                job_id=self.job_id,
                pipeline_id=planned.id,
                epoch_minimum=self.claim.epoch_minimum(restarts),
                topology=topology,
                policy=self.checkpoints,
                limits=limits,
                restore=restore,
            )

        return protocol
