"""Jobs that never end by themselves: killed, drained and stopped, and every row once. Tasks run in this process."""

import errno
import os
from typing import Any

import pytest

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.cli.main import main
from seatunnel_core.cli.progress import PlainDisplay
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from seatunnel_storage_api.discovery import open_storage
from tests.runtime.command import fake_source, job, parquet_sink
from tests.runtime.ground import OLD, WAIT_S, Ground, committed, until

pytestmark = pytest.mark.timeout(300)

ENV = "job.mode = STREAMING, checkpoint.interval = 40, parallelism = 2, job.retry.times = 0"


def made_up(ground: Ground, *, rows: int, splits: int, pause_ms: int = 100, env: str = ENV) -> str:
    source = fake_source("a", rows=rows, splits=splits, pause_ms=str(pause_ms))
    return job(env, [source], [parquet_sink("a", ground.work / "out" / "a")])


def watched(ground: Ground, env: str = ENV) -> str:
    source = f"""
  LocalFile {{
    plugin_output = a, path = "{ground.work}/in", file_format_type = csv
    discovery_mode = continuous, scan_interval = 100
    schema {{ fields {{ id = bigint }} }}
  }}"""
    return job(env, [source], [parquet_sink("a", ground.work / "out" / "a")])


def drop(ground: Ground, first: int, count: int = 10) -> None:
    """A file with so many ids appears in the watched folder."""
    hidden = ground.work / "in" / f".{first:05}.csv"
    hidden.parent.mkdir(exist_ok=True)
    hidden.write_text("".join(f"{each}\n" for each in range(first, first + count)))
    hidden.rename(ground.work / "in" / f"{first:05}.csv")


def stopped(run: JobRun, *, drain: bool = False) -> None:
    if drain:
        run.savepoint(drain=True, timeout=WAIT_S)
    else:
        run.stop()
    report = run.wait(WAIT_S)
    assert report is not None
    assert report.outcome is JobOutcome.STOPPED, report


class TestMadeUp:
    def test_it_gives_its_rows_waits_and_goes_on_waiting(self, ground: Ground) -> None:
        text = made_up(ground, rows=20, splits=4)
        with ground.run(text) as run:
            run.start()
            until(lambda: committed(run) == 20, run)
            assert run.wait(0.3) is None, "it waits"
            stopped(run)
        with ground.run(text, restore=Restore()) as again:
            again.start()
            assert again.wait(0.3) is None
            stopped(again)
        assert ground.rows("a") == list(range(1, 21))

    def test_killed_and_resumed_it_goes_on_where_it_was(self, ground: Ground) -> None:
        """A split a second and reader comes in a streaming job, and not all of them at once."""
        text = made_up(ground, rows=40, splits=40, pause_ms=1000)
        how: dict[str, Any] = {}
        for kill in range(3):
            with ground.run(text, **how) as run:
                run.start()
                until(lambda seen=kill: committed(run) > seen, run)  # type: ignore[misc]
                run.kill()
                assert run.wait(WAIT_S) is not None
            how = {"restore": Restore()}
        with ground.run(text, restore=Restore()) as last:
            last.start()
            stopped(last, drain=True)
        rows = ground.rows("a")
        assert 3 <= len(rows) < 40
        assert rows == list(range(1, len(rows) + 1))

    def test_a_batch_job_ends(self, ground: Ground) -> None:
        with ground.run(made_up(ground, rows=20, splits=4, env=ENV.replace("STREAMING", "BATCH"))) as run:
            run.start()
            report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FINISHED

    def test_a_batch_job_does_not_become_one_that_never_ends(self, ground: Ground) -> None:
        text = made_up(ground, rows=20, splits=4)
        with ground.run(text) as run:
            run.start()
            until(lambda: committed(run) > 0, run)
            stopped(run)
        with ground.run(text.replace("STREAMING", "BATCH"), restore=Restore()) as run:
            run.start()
            report = run.wait(WAIT_S)
        assert report is not None
        assert "source 'a' was unbounded and now is bounded" in report.pipelines[0].failure

    def test_how_it_is_shown(self, ground: Ground) -> None:
        """Without a number of splits in all, which there is not."""
        lines: list[str] = []
        display = PlainDisplay(lines.append, interval_s=0)
        with ground.run(made_up(ground, rows=20, splits=4)) as run:
            run.start()
            until(lambda: committed(run) == 20, run)
            display.show(run.progress())
            stopped(run)
            display.show(run.progress())
        assert "splits 4, " in lines[0]
        assert lines[-1].endswith("stopped, 20 rows committed")


class TestWatched:
    def test_new_files_are_read_once_over_kills_stops_and_drains(self, ground: Ground) -> None:
        text = watched(ground)
        drop(ground, 0)
        ends = ["kill", "stop", "drain", "kill", "drain"]
        for number, end in enumerate(ends):
            with ground.run(text, **({"restore": Restore()} if number else {})) as run:  # type: ignore[arg-type]
                run.start()
                until(lambda seen=10 * number: committed(run) > seen, run)  # type: ignore[misc]
                drop(ground, 10 * (number + 1))
                if end == "kill":
                    until(lambda seen=10 * (number + 1): committed(run) > seen, run)  # type: ignore[misc]
                    run.kill()
                    assert run.wait(WAIT_S) is not None
                else:
                    stopped(run, drain=end == "drain")
        with ground.run(text, restore=Restore()) as run:
            run.start()
            until(lambda: committed(run) == 10 * (len(ends) + 1), run)
            stopped(run)
        assert ground.rows("a") == list(range(10 * (len(ends) + 1)))

    def test_a_file_that_changes_afterwards_is_named_and_one_that_goes_is_forgotten(
        self, ground: Ground, caplog: pytest.LogCaptureFixture
    ) -> None:
        drop(ground, 0)
        drop(ground, 10)
        with ground.run(watched(ground)) as run:
            run.start()
            until(lambda: committed(run) == 20, run)
            (ground.work / "in" / "00000.csv").write_text("1000\n")
            (ground.work / "in" / "00010.csv").unlink()
            drop(ground, 20)
            until(lambda: committed(run) == 30, run)
            until(lambda: self.remembered(ground, run) == 2, run)
            stopped(run)
        assert ground.rows("a") == list(range(30))
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert [warning for warning in warnings if "00000.csv" in warning] == [
            f"source a: these files changed after they were read, and are not read again: {ground.work}/in/00000.csv. "
            "Write new rows into new files"
        ]

    @staticmethod
    def remembered(ground: Ground, run: JobRun) -> int:
        """How many files the newest checkpoint knows as read."""
        with open_storage("hdfs", {"namespace": f"{ground.work}/state/"}) as storage:
            state = storage.get_latest_checkpoint(OLD, 1)
        assert state is not None
        memory = codec.decode(state.states).sources["a"].memory or {}
        return len(memory.get("seen", "")) * 3 // 4 // 16

    def test_a_listing_that_fails_for_a_while_is_repeated(
        self, ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A file server that does not answer for a while. The error is put in: no disk fails when it is asked to."""
        drop(ground, 0)
        with ground.run(watched(ground)) as run:
            run.start()
            until(lambda: committed(run) == 10, run)
            broken, real = [True, True], os.scandir

            def scandir(path: str) -> object:
                if path == f"{ground.work}/in" and broken:
                    broken.pop()
                    raise OSError(errno.EIO, "Input/output error", path)
                return real(path)

            monkeypatch.setattr("seatunnel_core.connectors.filesystems.local.os.scandir", scandir)
            drop(ground, 10)
            until(lambda: committed(run) == 20, run)
            stopped(run)
        said = [record.getMessage() for record in caplog.records if "cannot be listed" in record.getMessage()]
        assert said == [f"source a: {ground.work}/in cannot be listed: Input/output error"] * 2
        assert ground.rows("a") == list(range(20))

    def test_another_folder_is_read_from_the_start_and_that_is_said(self, ground: Ground) -> None:
        drop(ground, 0)
        with ground.run(watched(ground)) as run:
            run.start()
            until(lambda: committed(run) == 10, run)
            stopped(run)
        (ground.work / "in").rename(ground.work / "other")
        text = watched(ground).replace(f"{ground.work}/in", f"{ground.work}/other")
        with ground.run(text, restore=Restore()) as run:
            run.start()
            assert run.notes == (
                f"The source 'a' no longer watches {ground.work}/in, and reads all files at "
                f"{ground.work}/other, including any that were already read under a different path",
            )
            until(lambda: committed(run) == 20, run)
            stopped(run)

    def test_a_folder_that_goes_away_fails_the_pipeline_and_is_named(self, ground: Ground) -> None:
        drop(ground, 0)
        with ground.run(watched(ground)) as run:
            run.start()
            until(lambda: committed(run) == 10, run)
            (ground.work / "in").rename(ground.work / "elsewhere")
            report = run.wait(WAIT_S)
        assert report is not None
        assert f"{ground.work}/in cannot be listed: No such file or directory" in report.pipelines[0].failure
        (ground.work / "elsewhere").rename(ground.work / "in")
        drop(ground, 10)
        with ground.run(watched(ground), restore=Restore()) as run:
            run.start()
            until(lambda: committed(run) == 20, run)
            stopped(run)
        assert ground.rows("a") == list(range(20))


def test_check_says_that_it_never_ends(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    drop(ground, 0)
    path = ground.work / "job.conf"
    path.write_text(watched(ground))
    assert main(["-c", str(path), "--check"]) == 0
    shown = capsys.readouterr().out
    assert "  streaming: a never ends by itself; rows become visible with each checkpoint\n" in shown
    assert "the job never ends by itself: stop it with Ctrl-C" in shown
    sources = [fake_source(name, rows=1) for name in "ab"]
    path.write_text(job(ENV, sources, [parquet_sink("a, b", ground.work / "out" / "both")]))
    assert main(["-c", str(path), "--check"]) == 0
    assert "  streaming: a, b never end by themselves; " in capsys.readouterr().out
    path.write_text(made_up(ground, rows=1, splits=1, env="job.mode = BATCH"))
    assert main(["-c", str(path), "--check"]) == 0
    assert "never ends" not in capsys.readouterr().out


def test_a_job_that_watches_what_it_writes_is_refused(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    drop(ground, 0)
    path = ground.work / "job.conf"
    path.write_text(watched(ground).replace(f"{ground.work}/out/a", f"{ground.work}/in/out"))
    assert main(["-c", str(path), "--check"]) == 2
    assert "would endlessly read its own output" in capsys.readouterr().err


def test_the_streaming_template_runs_until_it_is_stopped(ground: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(ground.folder / "home")]) == 0
    text = (ground.folder / "home" / "config" / "v2.streaming.conf.template").read_text()
    with ground.run(text.replace("checkpoint.interval = 2000", "checkpoint.interval = 50")) as run:
        run.start()
        until(lambda: committed(run) == 32, run)
        assert run.wait(0.3) is None
        stopped(run)
    assert capsys.readouterr().out.count("\n") >= 32
