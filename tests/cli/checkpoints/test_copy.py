"""``seatunnel checkpoints copy``, ``export`` and ``import``: what arrives, and what is left behind."""

from pathlib import Path

import pytest

from seatunnel_core.cli.checkpoints import tables as tables
from tests.cli.checkpoints.terminal import Terminal
from tests.inspector.made import JOB, Made


def test_migration_from_another_storage_is_one_command(terminal: Terminal, tmp_path: Path) -> None:
    text = terminal.run("copy", "--to", f"{tmp_path}/new/")
    assert f"Job {JOB} copied: 5 checkpoints, 1 attachment" in text
    assert "may be running" in terminal.complaint
    assert "already exists and is identical" in terminal.run("copy", "--to", f"{tmp_path}/new/")
    assert "resumes from 200000-6" in terminal.run("verify", state=f"{tmp_path}/new/")


def test_export_and_the_way_back(terminal: Terminal, tmp_path: Path) -> None:
    archive = f"{tmp_path}/job.zip"
    assert f"in {archive}\n" in terminal.run("export", archive, "-j", JOB)
    assert "Everything is intact" in terminal.run("verify", state=archive)
    done = terminal.json("copy", "--to", "hdfs", "-P", f"namespace={tmp_path}/back/", state=archive)
    assert (done["jobs"][0]["checkpoints"], done["failed"]) == (5, [])
    terminal.run("export", archive, code=2)
    assert "nothing is overwritten" in terminal.complaint


def test_an_export_into_a_folder_that_is_not_there_names_what_was_typed(terminal: Terminal, tmp_path: Path) -> None:
    terminal.run("export", f"{tmp_path}/no/x.zip", code=2)
    assert terminal.complaint.startswith(
        f"{tmp_path}/no/x.zip cannot be written: No such file or directory. Choose a file"
    )
    assert ".x.zip." not in terminal.complaint


def test_a_place_that_is_no_folder_is_reported_as_what_it_is(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, loop = tmp_path / "file", tmp_path / "loop"
    file.write_text("mine")
    loop.symlink_to(loop)  # even root may not look there
    (tmp_path / "ns").mkdir()
    monkeypatch.chdir(tmp_path)
    for place, says in {
        str(file): f"{file} is a file: use a folder",
        f"{loop}/ns/": f"{loop}/ns cannot be read: Too many levels of symbolic links",
        "ns": "If ns is a folder in the current folder, use ./ns/",
    }.items():
        terminal.run("list", state=place, code=2)
        assert says in terminal.complaint


def test_an_export_that_fails_writes_nothing(terminal: Terminal, tmp_path: Path) -> None:
    Made(storage=terminal.made.storage, target=tmp_path, job_id="job-2").begin()
    terminal.damage(200_000, 6)
    text = terminal.run("export", f"{tmp_path}/all.zip", code=1)
    assert "was not written" in text
    assert not (tmp_path / "all.zip").exists()


def test_a_copy_does_what_it_can_and_says_what_it_could_not(terminal: Terminal, tmp_path: Path) -> None:
    Made(storage=terminal.made.storage, target=tmp_path, job_id="job-2").begin()
    terminal.damage(200_000, 6)
    text = terminal.run("copy", "--to", f"{tmp_path}/new/", code=1)
    assert "Job job-2 copied: 0 checkpoints" in text
    assert f"job {JOB} was not copied: the latest checkpoint" in text


def test_a_destination_that_is_damaged_is_said(terminal: Terminal, tmp_path: Path) -> None:
    stray = tmp_path / "new" / JOB / "000001" / "x.ckpt"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"")
    assert str(stray) in terminal.run("copy", "--to", f"{tmp_path}/new/", code=1)


@pytest.mark.filterwarnings("ignore:the checkpoint storage localfile is deprecated:DeprecationWarning")
def test_the_deprecated_kind_is_left_behind_by_one_command(terminal: Terminal, tmp_path: Path) -> None:
    namespace = ("-p", f"namespace={terminal.state}")
    text = terminal.run("copy", *namespace, "--to", f"{tmp_path}/new/", state="localfile")
    assert "copied: 5 checkpoints, 1 attachment" in text
    assert "resumes from 200000-6" in terminal.run("verify", state=f"{tmp_path}/new/")


def test_what_a_storage_warns_of_is_reported(terminal: Terminal) -> None:
    terminal.run("list", "-p", "namespce=/typo/")
    assert "namespce" in terminal.complaint
    assert "did you mean 'namespace'?" in terminal.complaint


def test_what_is_left_behind_is_named(terminal: Terminal, tmp_path: Path) -> None:
    path = terminal.damage(200_000, 5)
    assert f"not copied, damaged: cannot read {path}" in terminal.run("copy", "--to", f"{tmp_path}/new/", code=1)


def test_a_copy_of_nothing(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    terminal.run("copy", "--to", f"{tmp_path}/new/", code=2, state=f"{tmp_path}/empty/")
    assert "has no job" in terminal.complaint
