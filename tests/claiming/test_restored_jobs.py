"""Restores of real jobs beyond the matrix: savepoints that travel, from Python and from the command line, and inputs
that were renamed. Tasks run in this process."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import seatunnel_core as st
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.cli.main import main
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore, SavepointName
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_storage_api.discovery import open_storage
from tests.runtime.command import column, job, parquet_sink, staged
from tests.runtime.ground import ALL, NEW, OLD, ROWS, WAIT_S, Ground, committed, ground_in, run_through, until

pytestmark = [pytest.mark.xdist_group("restore-matrix"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_in(tmp_path_factory.mktemp("jobs")) as made:
        yield made


def manifest(ground: Ground, state: str, job_id: str = OLD) -> Manifest:
    with open_storage("hdfs", {"namespace": f"{ground.work}/{state}/"}) as storage:
        found = storage.get_manifest(job_id)
        assert found is not None
        return Manifest.from_bytes(found.body)


def begin_in_new(ground: Ground, storage: str | None, name: str = "end") -> tuple[str, ...]:
    savepoint = SavepointName(job_id=OLD, name=name)
    text = ground.tables("a", "b", rows_per_second=None)
    begin_with = ForeignSavepoint(savepoint=savepoint, storage=storage)
    report, said = run_through(ground.run(text, NEW, begin_with=begin_with))
    assert report.outcome is JobOutcome.FINISHED, report
    assert ground.rows("a") == ground.rows("b") == ALL
    return said


@pytest.mark.parametrize("how", ["export", "copy"])
def test_a_savepoint_travels_with_its_proof(ground: Ground, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    """To another storage, as a file or as a copy; the job there goes on in the same targets, each row once."""
    ground.begin("savepoint-stop")
    where = f"{ground.work}/away.zip" if how == "export" else f"{ground.work}/away/"
    to = [where] if how == "export" else ["--to", where]
    assert main(["checkpoints", how, *to, "--from", f"{ground.work}/state/"]) == 0, capsys.readouterr()
    shutil.rmtree(ground.work / "state")
    said = begin_in_new(ground, where)
    if how == "export":
        assert any(
            "away.zip cannot be changed, so the job old-job is not marked there as moved" in line for line in said
        )
    else:
        assert manifest(ground, "away").moved_to == NEW


def test_what_was_carried_away_is_marked_where_it_came_from_too(ground: Ground) -> None:
    ground.begin("savepoint-stop")
    where = f"{ground.work}/away.zip"
    assert main(["checkpoints", "export", where, "--from", f"{ground.work}/state/"]) == 0
    begin_in_new(ground, where)
    assert manifest(ground, "state").moved_to == NEW
    with pytest.raises(UsageError, match=f"was moved to {NEW}"):
        run_through(ground.run(ground.tables("a", "b"), restore=Restore()))


def test_a_copy_in_other_targets_gets_what_comes_after_the_savepoint(ground: Ground) -> None:
    """The old job goes on by itself: both have each row once, in their own targets."""
    ground.begin("stopped")
    with open_storage("hdfs", {"namespace": f"{ground.work}/state/"}) as storage:
        ref = manifest(ground, "state").savepoints[0].pipelines[1]
        state = storage.get_checkpoint(OLD, 1, ref.checkpoint_id, epoch=ref.epoch)
    assert state is not None
    before = codec.decode(state.states).sinks["LocalFile-sink-a"].rows_committed
    assert 0 < before < ROWS
    text = ground.tables("a", "b", rows_per_second=None)
    other = text.replace(f"{ground.work}/out", f"{ground.work}/other")
    begin_with = ForeignSavepoint(savepoint=SavepointName(job_id=OLD, name="middle"))
    run_through(ground.run(other, NEW, begin_with=begin_with))
    run_through(ground.run(text, restore=Restore()))
    assert ground.rows("a") == ALL
    after = column(ground.work / "other" / "a", "id")
    assert len(after) == len(set(after)) == ROWS - before


def test_a_job_that_has_ended_goes_back_although_its_staging_folders_are_gone(ground: Ground) -> None:
    """All that its checkpoints name is published, and its staging was cleared away: that looks like a disk that is not
    mounted, so the pipelines failed, those included that were to stay where they are. Without an interval the final
    checkpoint of each names all of its files."""
    shutil.rmtree(ground.work, ignore_errors=True)
    text = ground.tables("a", "b", rows_per_second=None).replace("checkpoint.interval = 40, ", "")
    run_through(ground.run(text))
    assert not staged(ground.work / "out")
    with open_storage("hdfs", {"namespace": f"{ground.work}/state/"}) as storage:
        first, final = storage.list_checkpoints(OLD, 2)
        state = storage.load(final)
    assert state is not None
    assert codec.decode(state.states).sinks["LocalFile-sink-b"].uncommitted
    chosen = ChosenCheckpoint.parse(f"1:{first.ref}")
    report, _ = run_through(ground.run(text, restore=Restore(checkpoints=(chosen,), retract=True)))
    assert report.outcome is JobOutcome.FINISHED, report
    assert ground.rows("a") == ground.rows("b") == ALL


def test_of_two_pipelines_the_one_that_had_not_gone_back_yet_still_does(ground: Ground) -> None:
    """The first process after the request is killed as soon as it has claimed the job."""
    ground.begin("stopped")
    text = ground.tables("a", "b", rows_per_second=None)
    killed = ground.run(text, restore=Restore(savepoint="middle", retract=True))
    with killed, pytest.MonkeyPatch.context() as patch:
        patch.setattr("seatunnel_core.runtime.job_run.JobThreads.start", lambda crew: crew._thread.start())
        killed.start()
    assert set(manifest(ground, "state").asked) == {1, 2}
    report, _ = run_through(ground.run(text, restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED
    assert ground.rows("a") == ground.rows("b") == ALL
    with open_storage("hdfs", {"namespace": f"{ground.work}/state/"}) as storage:
        savepoint = manifest(ground, "state").savepoints[0]
        for number, ref in savepoint.pipelines.items():
            bases = {info.base for info in storage.list_checkpoints(OLD, number)}
            assert ref in bases, "it went on from its latest"


def test_a_renamed_input_is_not_looked_into_and_that_is_said(ground: Ground) -> None:
    shutil.rmtree(ground.work, ignore_errors=True)
    old, new = ground.work / "in", ground.work / "elsewhere"
    for folder in (old, new):
        folder.mkdir(parents=True)
        first = 1 if folder is old else 10_001
        for part in range(20):
            ids = range(first + part * 30, first + part * 30 + 30)
            (folder / f"{part:02}.csv").write_text("".join(f"{each}\n" for each in ids))

    def text(folder: Path, limit: str = "") -> str:
        source = f"""
  LocalFile {{
    plugin_output = a, path = "{folder}", file_format_type = csv
    schema {{ fields {{ id = bigint }} }}
  }}"""
        env = f"job.mode = BATCH, checkpoint.interval = 40{limit}"
        return job(env, [source], [parquet_sink("a", ground.work / "out" / "a")])

    with ground.run(text(old, ", read_limit.rows_per_second = 400")) as run:
        run.start()
        until(lambda: committed(run) >= 90, run)
        run.stop()
        assert run.wait(WAIT_S) is not None
    assert len(ground.rows("a")) < ROWS
    report, said = run_through(ground.run(text(new), restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, report
    assert ground.rows("a") == ALL
    assert said == (
        f"The source 'a' continues with the files that were found at {old} when it was first read; {new} is "
        "not searched. To read the new path, give the source another name",
    )


# -- from Python


def tables(ground: Ground) -> tuple[st.Job, Path]:
    """The same job, built in code."""
    engine = ground.work / "seatunnel.yaml"
    built = st.Job("tables", {"checkpoint.interval": 40})
    schema = {"fields": {"id": "bigint", "text": "string"}}
    for name in "ab":
        options = {"row.num": ROWS, "split.num": 60, "auto.increment.enabled": True, "schema": schema}
        rows = built.source("FakeSource", options, name=name)
        rows.sink(
            "LocalFile", name=f"LocalFile-sink-{name}", path=f"{ground.work}/out/{name}", file_format_type="parquet"
        )
    return built, engine


def test_python_asks_for_the_same(ground: Ground) -> None:
    ground.begin("finished")
    built, engine = tables(ground)
    with pytest.raises(st.UsageError, match="retract=True to roll them back"):
        built.submit(restore=st.Restore(OLD, savepoint="middle"), engine_config=engine)
    report = built.run(restore=st.Restore(OLD, savepoint="middle", retract=True), engine_config=engine)
    assert report.outcome is st.JobOutcome.FINISHED
    assert ground.rows("a") == ground.rows("b") == ALL
    back = st.Restore(OLD, checkpoints=[ground.older().written], accept_duplicates=True)
    built.run(restore=back, engine_config=engine)
    assert sorted(set(ground.rows("a"))) == ALL
    assert ground.rows("b") == ALL


def test_python_begins_a_new_job_with_a_savepoint(ground: Ground) -> None:
    ground.begin("savepoint-stop")
    built, engine = tables(ground)
    built.run(job_id=NEW, restore=st.Restore(from_savepoint=f"{OLD}/end"), engine_config=engine)
    assert ground.rows("a") == ground.rows("b") == ALL


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"retract": True}, "needs the ID of a job to resume, or from_savepoint"),
        ({"from_storage": "x.zip"}, 'also pass from_savepoint="JOB_ID/NAME"'),
        ({"from_savepoint": "a/b", "job_id": "c"}, "starts a new job"),
        ({"from_savepoint": "a/b", "savepoint": "c"}, "starts a new job"),
        ({"from_savepoint": "a/b", "retract": True}, r"restore=st.Restore\(JOB_ID, savepoint=NAME, retract=True\)"),
        ({"job_id": "a", "checkpoints": "latest"}, "such as 100000-7"),
    ],
)
def test_in_python_it_is_said_what_does_not_go_together(ground: Ground, how: dict[str, object], says: str) -> None:
    built, engine = tables(ground)
    with pytest.raises(st.UsageError, match=says):
        built.submit(restore=st.Restore(**how), engine_config=engine)  # type: ignore[arg-type]
