"""``seatunnel checkpoints list``, ``show`` and ``diff``: what is printed, and the exit code."""

import os
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli.checkpoints import tables as tables
from seatunnel_core.cli.checkpoints.arguments import CheckpointsArguments, parse_checkpoints
from seatunnel_core.job.manifest import Manifest
from tests.cli.checkpoints.terminal import Terminal
from tests.cli.checkpoints.test_arguments import refusal
from tests.inspector.made import JOB, Made


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_list_shows_each_job_in_a_line(terminal: Terminal) -> None:
    storage, _, heading, line = cells(terminal.run("list"))
    assert storage[:2] == ["Storage:", terminal.state]
    assert heading[:4] == ["job", "name", "state", "pipelines"]
    assert line[:5] == [JOB, "nightly", "open", "1", "6"]


def test_list_of_an_empty_storage(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text = terminal.run("list", state=f"{tmp_path}/empty/")
    assert text.startswith(f"Storage: {tmp_path}/empty/ (hdfs on local files)\n\nNo job.\n")
    assert "it is empty or does not exist" in text


def test_a_folder_that_may_not_be_read_hides_no_other_job(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job of another user ended the listing of all jobs."""
    other = Path(terminal.state) / "other"
    other.mkdir()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if os.path.normpath(path) == str(other):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # the tests may run as root, whom no permission stops
    said = f"job other: cannot list {other}/ (hdfs on local files): "
    text = terminal.run("list", code=1)
    assert [line[:3] for line in cells(text)[3:5]] == [[JOB, "nightly", "open"], ["other", "-", "unreadable,"]]
    assert f"damaged: {said}" in text
    assert "Permission denied" in text
    verified = terminal.run("verify", code=1)
    assert said in verified
    assert f"{JOB}  1 flights1 -> out1  resumes from" in verified
    assert "no data of job other is removed: cannot list" in terminal.run("gc", "--dry-run", code=1)
    assert not terminal.complaint
    terminal.run("list", "-j", "other", code=1)
    assert terminal.complaint.startswith(f"cannot list {other}/")


def test_a_storage_that_may_not_be_read_at_all_is_no_bug(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    terminal.run("list", code=1)
    assert terminal.complaint.startswith(f"cannot list {terminal.state} (hdfs on local files): ")


def test_list_of_one_job_shows_its_checkpoints(terminal: Terminal) -> None:
    text = terminal.run("list", "-j", JOB)
    assert "Job job-1 (nightly): open, started 2 times" in text
    assert "Pipeline 1: flights1 -> out1, epoch 200000" in text
    lines = {line[0]: line for line in cells(text) if line}
    assert lines["100000-4"][1] == "checkpoint"
    assert lines["100000-4"][-2:] == ["void", "none"]
    assert lines["200000-5"][-2:] == ["live", "100000-2"]
    assert lines["200000-6"][-2:] == ["latest", "100000-2"]


def test_list_of_an_ended_job_and_of_one_that_has_stored_nothing(terminal: Terminal, tmp_path: Path) -> None:
    Made(storage=terminal.made.storage, target=tmp_path, job_id="job-2").begin()
    terminal.made.end()
    assert "Job job-1 (nightly): ended 2023-11-1" in terminal.run("list", "-j", JOB)
    assert "no checkpoint" in terminal.run("list", "-j", "job-2")


def test_show_says_of_an_ended_job_that_it_has_ended(terminal: Terminal) -> None:
    """It said that rows were not known to be committed."""
    assert "pending commit" in terminal.run("show", JOB)
    terminal.made.end()
    text = terminal.run("show", JOB)
    assert text.startswith("Job job-1 ended 2023-11-1")
    assert "the output of its checkpoints is committed, so -r job-1 moves no rows" in text
    assert "nothing is pending commit" in text


def test_what_a_storage_holds_cannot_steer_the_terminal(terminal: Terminal, tmp_path: Path) -> None:
    manifest = Manifest(job_name="\x1b[2Jgone\x07")
    terminal.made.storage.put_manifest("job-2", 1, manifest.to_bytes())
    text = terminal.run("list")
    assert "?[2Jgone?" in text
    assert "\x1b" not in text
    assert terminal.json("list")["jobs"][1]["name"] == "\x1b[2Jgone\x07"


def test_list_names_damage(terminal: Terminal) -> None:
    stray = Path(terminal.state, JOB, "000001", "x.ckpt")
    stray.write_bytes(b"")
    assert str(stray) in terminal.run("list", code=1)
    assert f"damaged: {stray}" in terminal.run("list", "-j", JOB, code=1)


def test_list_for_programs(terminal: Terminal) -> None:
    (job,) = terminal.json("list")["jobs"]
    assert (job["job_id"], job["state"], job["checkpoints"]) == (JOB, "open", 6)
    (pipeline,) = terminal.json("list", "-j", JOB)["jobs"][0]["pipelines"]
    assert pipeline["latest"] == "200000-6"
    assert [each["checkpoint"] for each in pipeline["checkpoints"] if not each["live"]] == ["100000-4"]


def test_show_speaks_of_the_latest_one(terminal: Terminal) -> None:
    staged = terminal.made.stage(200_000, 4)
    text = terminal.run("show", JOB)
    assert "checkpoint 200000-6, latest" in text
    assert "has emitted 7 splits of 10, 3 left" in text
    assert "continues with split 7: /in/1.csv, bytes 700 to 800" in text
    assert "unit 5: split 5 (/in/a.csv, bytes 500 to 600), about 5 rows; runs again" in text
    assert f"staged: {staged}, becomes {terminal.made.target}/day=1/{staged.name}" in text


def test_show_of_many_units_is_cut_short_for_people_only(terminal: Terminal) -> None:
    terminal.made.store(200_000, 7, terminal.made.states(running=range(1, 14)), base=(100_000, 2))
    assert "… and 3 more; --json shows all" in terminal.run("show", JOB)
    assert len(terminal.json("show", JOB)["checkpoints"][0]["vertices"][1]["parts"]) == 13


@pytest.mark.parametrize("ref", ["100000-4", "4"])
def test_show_of_a_void_one_says_so(terminal: Terminal, ref: str) -> None:
    assert "100000-4, VOID" in terminal.run("show", JOB, "1", ref)


def test_show_of_what_is_not_there(terminal: Terminal) -> None:
    terminal.run("show", JOB, "2", code=2)
    assert "no pipeline 2" in terminal.complaint
    terminal.run("show", JOB, "1", "77", code=2)
    assert "it has 100000-1, 100000-2" in terminal.complaint
    terminal.run("show", "other", code=2)
    assert "there is no job other" in terminal.complaint


def test_show_of_a_pipeline_without_checkpoints(terminal: Terminal, tmp_path: Path) -> None:
    Made(storage=terminal.made.storage, target=tmp_path, job_id="job-2").begin()
    assert terminal.run("show", "job-2") == "No checkpoint.\n"
    terminal.run("show", "job-2", "1", code=2)
    assert "has no checkpoint" in terminal.complaint


def test_show_of_a_damaged_one(terminal: Terminal) -> None:
    path = terminal.damage(200_000, 6)
    assert f"cannot be shown: cannot read {path}" in terminal.run("show", JOB, code=1)


def test_show_for_programs(terminal: Terminal) -> None:
    (content,) = terminal.json("show", JOB)["checkpoints"]
    source, task, sink = content["vertices"]
    assert source["facts"]["emitted"] == 7
    assert [part["name"] for part in task["parts"]] == ["unit 5", "unit 6"]
    assert sink["parts"][0]["name"] == "committable 0-200000-4"


def test_diff_compares_the_last_two_live_ones(terminal: Terminal) -> None:
    text = terminal.run("diff", JOB)
    assert text.startswith("Pipeline 1: from 200000-5 to 200000-6\n")
    assert "emitted: 5 -> 7 (+2)" in text


def test_diff_of_chosen_ones(terminal: Terminal) -> None:
    assert "nothing changed" in terminal.run("diff", JOB, "1", "2", "200000-3")
    assert "from 100000-2 to 200000-6" in terminal.run("diff", JOB, "1", "2")
    (found,) = terminal.json("diff", JOB, "1", "200000-5", "200000-6")["pipelines"]
    assert {"vertex": "source flights1", "what": "emitted", "before": 5, "after": 7} in found["changes"]


def test_diff_without_two(terminal: Terminal, tmp_path: Path) -> None:
    Made(storage=terminal.made.storage, target=tmp_path, job_id="job-2").begin()
    assert "fewer than two live checkpoints" in terminal.run("diff", "job-2")


def test_diff_of_a_damaged_one(terminal: Terminal) -> None:
    path = terminal.damage(200_000, 5)
    assert str(path) in terminal.run("diff", JOB, code=1)


def test_ages() -> None:
    def age(text: str) -> float:
        return parse_checkpoints(["gc", "--older-than", text]).older_than_s

    assert [age(text) for text in ("0", "90s", "15m", "6h", "7d")] == [0, 90, 900, 21_600, 604_800]
    assert parse_checkpoints(["gc"]).older_than_s == 86_400


def test_a_secret_is_not_shown() -> None:
    parsed = parse_checkpoints(["copy", "-p", "a=hunter2", "--to", "hdfs", "-P", "b=hunter3"])
    assert isinstance(parsed, CheckpointsArguments)
    assert parsed.destination is not None
    assert parsed.destination.properties == {"b": "hunter3"}
    assert "hunter" not in repr(parsed)
    assert "hunter2" not in refusal("list", "-p", "=hunter2")


def test_ages_of_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 10 * 86_400.0)
    assert tables.age(0) == "10 days"
    assert tables.age(10 * 86_400 - 5) == "5.0 s"
    assert tables.age(None) == "-"
