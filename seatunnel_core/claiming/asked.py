"""Find the checkpoints to restore, as requested for this start or for an earlier start that did not complete."""

from collections.abc import Mapping

from attrs import define, field

from seatunnel_core.checkpoint.decisions.base import RestoreRequest, choose_base, find_live
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import Asked, ChosenCheckpoint, Restore
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_storage_api import lineage
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing


@define(kw_only=True)
class Findings:
    """Results of checking a restore request, one sentence each."""

    problems: list[str] = field(factory=list)
    """Reasons for rejecting the request, reported all at once."""

    notes: list[str] = field(factory=list)


@define(eq=False, repr=False, kw_only=True)
class AskedCheckpoints:
    """Checkpoints that the user requested, by pipeline number."""

    _job_id: str
    _stored: Manifest
    _restore: Restore
    _since: int
    """First epoch that this process may claim."""

    _pipelines: Mapping[int, PlannedPipeline]
    _listings: Mapping[int, PipelineListing]
    _findings: Findings

    def still(self) -> dict[int, Asked]:
        """Return the requests that earlier processes did not complete.

        Requests for checkpoints that have since been removed are dropped: otherwise the job could never start again.
        """
        still: dict[int, Asked] = {}
        for number, asked in going_back(self._stored.asked).items():
            infos = self._listing(number).checkpoints
            if number not in self._pipelines or any(info.epoch >= asked.since for info in infos):
                continue
            if asked.ref in lineage.live(infos):
                still[number] = asked
            elif not self._restore.goes_back:
                self._findings.notes.append(
                    f"{self._pipelines[number].heading} does not restore {asked.ref}: an earlier start requested it, "
                    "but the checkpoint has been removed since. The pipeline continues from its latest checkpoint"
                )
        return still

    def now(self) -> dict[int, Asked]:
        """Return the requests of this start: single checkpoints, or the parts of a savepoint."""
        name = self._restore.savepoint
        refs = self._chosen() if name is None else self._of_savepoint(name)
        rewind = self._restore.rewind
        return {number: Asked(ref=ref, rewind=rewind, since=self._since) for number, ref in refs.items()}

    def _of_savepoint(self, name: str) -> dict[int, CheckpointRef]:
        try:
            found = self._stored.savepoint(name, job_id=self._job_id)
        except UsageError as error:
            self._findings.problems.append(str(error))
            return {}
        later = [pipeline.title for number, pipeline in self._pipelines.items() if number not in found.pipelines]
        if later:
            self._findings.notes.append(
                f"Pipelines that are not in the savepoint {name} continue from their current state: {'; '.join(later)}"
            )
        still = [number for number in sorted(found.finished & self._pipelines.keys()) if self._is_finished(number)]
        if still:
            titles = "; ".join(self._pipelines[number].title for number in still)
            self._findings.notes.append(
                f"Pipelines that had finished in the savepoint {name} remain finished: {titles}"
            )
        return {
            number: ref for number, ref in found.pipelines.items() if number in self._pipelines and number not in still
        }

    def _is_finished(self, number: int) -> bool:
        """Return True if the pipeline's last checkpoint is a final one, with all output published."""
        base = choose_base(self._listing(number).checkpoints, RestoreRequest())
        return base.cut is not None and base.cut.checkpoint_type is CheckpointType.COMPLETED_POINT

    def _chosen(self) -> dict[int, CheckpointRef]:
        refs: dict[int, CheckpointRef] = {}
        for chosen in self._restore.checkpoints:
            number = chosen.pipeline if chosen.pipeline is not None else self._only_pipeline(chosen)
            if number is None:
                continue
            if number not in self._pipelines:
                self._findings.problems.append(
                    f"{chosen.written}: the job has no pipeline {number}; it has {self._numbered()}"
                )
            elif number in refs:
                self._findings.problems.append(
                    f"{chosen.written} is a second checkpoint for pipeline {number}; specify only one"
                )
            else:
                info = self._find(number, chosen)
                if info is not None:
                    refs[number] = info.ref
        return refs

    def _only_pipeline(self, chosen: ChosenCheckpoint) -> int | None:
        if len(self._pipelines) == 1:
            return next(iter(self._pipelines))
        self._findings.problems.append(
            f"{chosen.written}: the job has {len(self._pipelines)} pipelines, so use PIPELINE:{chosen.written} with "
            f"one of {self._numbered()}"
        )
        return None

    def _numbered(self) -> str:
        return ", ".join(f"{number} ({pipeline.title})" for number, pipeline in sorted(self._pipelines.items()))

    def _find(self, number: int, chosen: ChosenCheckpoint) -> CheckpointInfo | None:
        try:
            return find_live(self._listing(number).checkpoints, chosen.checkpoint_id, chosen.epoch)
        except RestoreRefusedError as error:
            self._findings.problems.append(f"{chosen.written}: {self._pipelines[number].heading}: {error}")
            return None

    def _listing(self, number: int) -> PipelineListing:
        return self._listings.get(number, PipelineListing())


def going_back(asked: Mapping[int, Asked]) -> dict[int, Asked]:
    """Return the requests for which the user agreed to restore a checkpoint older than the latest.

    The other requests were for the checkpoint that was the latest at that time. A newer one may exist now.
    """
    return {number: each for number, each in asked.items() if each.rewind != "refused"}
