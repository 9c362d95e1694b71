"""The runtime and its real connectors, broken on purpose: each has to be noticed by the test that is about it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.connectors.filesystems.local import LocalOpenFile
from seatunnel_core.connectors.staging import target
from seatunnel_core.connectors.tables.ledger import CommitLedger
from seatunnel_core.errors import SinkError
from seatunnel_core.reporting.report_record import report_record
from seatunnel_core.runtime.job_threads import JobThreads
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_storage_api.errors import CheckpointCorruptedError
from tests.connectors import test_kit_on_built_in
from tests.connectors.file import test_local_file_source
from tests.connectors.jdbc import test_jdbc_publishing
from tests.jobs import test_real_sinks
from tests.runtime.ground import Ground

pytestmark = [pytest.mark.mutants, pytest.mark.timeout(300)]

Patch = pytest.MonkeyPatch


# -- what is broken ---------------------------------------------------------------------------------------------------


def sweeps_newer_epochs(patch: Patch) -> None:
    def sweep(self: target.Target, below: int, keep: frozenset[str]) -> int:
        found = [epoch for epoch in self._epochs() if epoch < below or epoch > below + 1]
        return sum(self._sweep_epoch(epoch, keep) for epoch in found)

    patch.setattr(target.Target, "sweep", sweep)


def takes_an_older_checkpoint(patch: Patch) -> None:
    def list_checkpoints(self: PipelineIO) -> Any:
        listing = self.storage.scan(self.job_id, self.planned.id)
        infos = list(listing.checkpoints)
        while infos:
            try:
                self.storage.load(infos[-1])
                break
            except CheckpointCorruptedError:
                infos.pop()
        return evolve(listing, checkpoints=tuple(infos))

    patch.setattr(PipelineIO, "list_checkpoints", list_checkpoints)


def lets_the_other_pipelines_go_on(patch: Patch) -> None:
    ended = JobThreads.pipeline_ended

    def pipeline_ended(self: JobThreads, run: Any) -> None:
        runs = self._runs
        if run.outcome is Outcome.FENCED:
            self._ended += 1
            if self._ended == len(runs):
                self._storage_pool.submit(self._conclude)
        else:
            ended(self, run)

    patch.setattr(JobThreads, "pipeline_ended", pipeline_ended)


def compares_sizes_only(patch: Patch) -> None:
    def check(self: LocalOpenFile) -> None:
        if os.fstat(self._descriptor).st_size != self.version.size:
            raise self.changed("its size")

    patch.setattr(LocalOpenFile, "check", check)


def holds_no_row(patch: Patch) -> None:
    patch.setattr(CommitLedger, "hold", lambda self, connection: None)


def commits_again_always(patch: Patch) -> None:
    commit = PipelineIO.commit

    def again(self: PipelineIO, sink: str, epoch: int, committables: Any, *, may_be_committed: bool) -> None:
        commit(self, sink, epoch, committables, may_be_committed=True)

    patch.setattr(PipelineIO, "commit", again)


def clears_before_the_end_is_recorded(patch: Patch) -> None:
    def conclude(self: JobThreads) -> None:
        try:
            report = self._report()
            for run in self._runs:
                run.clear()
            self._manifest.write(lambda manifest: manifest.closed(report_record(report)))
            self._on_end(report)
        except Exception as error:
            self._break(error)

    patch.setattr(JobThreads, "_conclude", conclude)


@frozen
class Breakage:
    rule: str
    patch: Callable[[Patch], None]
    found_by: Callable[..., None]


def _staging_stays(ground: Ground) -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_real_sinks.test_staging_stays_until_the_end_of_the_job_is_recorded(ground, patch)


BREAKAGES = {
    "the newest checkpoint is damaged, and an older one is taken": Breakage(
        "R10", takes_an_older_checkpoint, test_real_sinks.test_a_damaged_newest_checkpoint_is_never_passed_over
    ),
    "a pipeline that was fenced off leaves the others running": Breakage(
        "R7", lets_the_other_pipelines_go_on, test_real_sinks.test_a_process_that_lost_one_pipeline_ends_all_of_them
    ),
    "every commit counts as one that is repeated": Breakage(
        "R8",
        commits_again_always,
        test_real_sinks.test_a_staged_file_that_is_gone_before_its_first_commit_was_not_published,
    ),
    "staging is cleared before the end is recorded": Breakage(
        "R7",
        clears_before_the_end_is_recorded,
        _staging_stays,
    ),
}


@pytest.mark.parametrize("what", BREAKAGES)
def test_a_broken_runtime_is_found(
    what: str, ground: Ground, monkeypatch: Patch, record_property: Callable[[str, object], None]
) -> None:
    breakage = BREAKAGES[what]
    breakage.patch(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        breakage.found_by(ground)
    record_property("mutant", (breakage.rule, what, "a job with a real sink", "1 run"))


def _sweeps(folder: Path) -> None:
    suite = test_kit_on_built_in.TestParquetSink()
    suite.folder = folder
    suite.test_a_sweep_leaves_alone_what_newer_engines_staged()


CONNECTORS = {
    "a sweep takes what newer epochs staged": Breakage("R9", sweeps_newer_epochs, _sweeps),
    "a file that changed is told by its size alone": Breakage(
        "R12",
        compares_sizes_only,
        test_local_file_source.test_a_file_that_was_written_again_with_the_same_size_is_refused,
    ),
    "the save mode of Jdbc acts without its pipeline's row": Breakage(
        "R4",
        holds_no_row,
        lambda folder: test_jdbc_publishing.test_a_replaced_engine_that_wakes_before_its_save_mode_empties_nothing(
            folder / "target.db"
        ),
    ),
}


@pytest.mark.parametrize("what", CONNECTORS)
def test_a_broken_connector_is_found(
    what: str, tmp_path: Path, monkeypatch: Patch, record_property: Callable[[str, object], None]
) -> None:
    breakage = CONNECTORS[what]
    breakage.patch(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, SinkError)):
        breakage.found_by(tmp_path)
    record_property("mutant", (breakage.rule, what, "a real connector", "1 run"))
