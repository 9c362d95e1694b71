"""``seatunnel checkpoints verify``: what is damaged, what cannot be read, and what is no storage of ours."""

import os
import zipfile
from pathlib import Path
from typing import cast

import pytest

from seatunnel_core.cli.checkpoints import command as cli
from seatunnel_core.inspector import survey_job
from seatunnel_storage_api import layout
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import open_storage
from tests.cli.checkpoints.terminal import Terminal
from tests.inspector.made import JOB, Made


def test_verify_of_what_is_intact(terminal: Terminal) -> None:
    text = terminal.run("verify")
    assert "Everything is intact." in text
    assert "resumes from 200000-6" in text


def test_verify_names_what_is_damaged_and_what_is_left(terminal: Terminal) -> None:
    path = terminal.damage(200_000, 6)
    Path(terminal.state, JOB, "000001", ".tmp", "x").write_bytes(b"half")
    text = terminal.run("verify", code=1)
    assert "1 object DAMAGED" in text
    assert str(path) in text
    assert "The newest usable checkpoint is 200000-5" in text
    assert "Skipped: 1 unfinished write and 0 objects of other programs." in text
    assert f"\n  {terminal.state}{JOB}/000001/.tmp/x\n" in text
    assert "NOT everything is intact." in text
    found = terminal.json("verify", "-j", JOB, code=1)
    assert [each["checkpoint"] for each in found["damaged"]] == ["200000-6"]
    assert found["pipelines"][0]["restorable"] == "200000-5"


@pytest.mark.parametrize("where", ["empty", "above", "job", "pipeline", "zip", "maps", "below the maps", "others"])
def test_verify_of_a_wrong_place_names_the_right_one(terminal: Terminal, tmp_path: Path, where: str) -> None:
    """Nothing was damaged there, so everything was called intact."""
    state = terminal.state
    maps = tmp_path / "maps"
    for name in ("empty", "others", "maps"):
        (tmp_path / name).mkdir()
    (tmp_path / "others" / "notes.txt").write_text("mine")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a/b.txt", "mine")
    if "maps" in where:
        with open_storage("map-store", {"namespace": f"{maps}/"}) as stored:
            Made(storage=cast(BlobStorage, stored), target=tmp_path, job_id="job-2").begin()
            stored.acquire_epoch("job-2", 1, 1)
    place, instead = {
        "empty": (f"{tmp_path}/empty/", "it is empty or does not exist"),
        "above": (f"{Path(state).parent}/", f"the checkpoints are in a subfolder; use that namespace: {state}"),
        "job": (f"{state}{JOB}/", f"use the namespace above it: {state}\n"),
        "pipeline": (f"{state}{JOB}/000001/", f"use the namespace above it: {state}\n"),
        "zip": (
            f"{tmp_path}/other.zip",
            "1 object of other programs, such as a/b.txt: use the name of a file created by export",
        ),
        "maps": (f"{maps}/", f"use --from map-store -p namespace={maps}/\n"),
        "below the maps": (f"{maps}/map-store/", f"use --from map-store -p namespace={maps}/\n"),
        "others": (f"{tmp_path}/others/", "1 object of other programs, such as notes.txt"),
    }[where]
    assert terminal.run("verify", state=place, code=2) == ""
    assert f"Nothing was verified: {place}" in terminal.complaint
    assert instead in terminal.complaint
    assert instead in terminal.run("list", state=place)


def test_verify_reports_the_rest_beside_what_cannot_be_read(terminal: Terminal) -> None:
    """A folder of somebody else, or one object that may not be read, ended the whole report."""
    foreign = Path(terminal.state, "some dir")
    foreign.mkdir()
    (foreign / "file").write_text("mine")
    pipeline = survey_job(terminal.made.storage, JOB).pipeline(1)
    looping = Path(terminal.state, JOB, "000001", layout.checkpoint_key(pipeline.live[-2]).rpartition("/")[2])
    looping.unlink()
    looping.symlink_to(looping)  # even root may not read it
    text = terminal.run("verify", code=1)
    assert "1 object DAMAGED" in text
    assert f"cannot read {looping}" in text
    assert f"  {foreign}/file\n" in text
    assert "resumes from 200000-6" in text


@pytest.mark.parametrize("name", ["some dir", "job-2"])
def test_verify_names_a_manifest_that_cannot_be_a_jobs(terminal: Terminal, name: str) -> None:
    path = Path(terminal.state, name, "manifest", "0000000001.manifest")
    path.parent.mkdir(parents=True)
    path.symlink_to(path)
    text = terminal.run("verify", code=1)
    assert f"cannot read {path}" in text
    assert "resumes from 200000-6" in text


def test_verify_of_an_archive_whose_middle_is_missing(terminal: Terminal, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.zip", tmp_path / "cut.zip"
    terminal.run("export", str(whole))
    body = whole.read_bytes()
    cut.write_bytes(body[: len(body) // 3] + body[len(body) // 3 + 1_000 :])
    text = terminal.run("verify", state=str(cut), code=1)
    assert "DAMAGED" in text
    assert "Export the checkpoints again, or use another copy of the file" in text
    assert "writable" not in text + terminal.complaint


def test_looking_needs_no_right_to_write_and_makes_nothing(terminal: Terminal, tmp_path: Path) -> None:
    namespace = ("-p", f"namespace={tmp_path}/typo/")
    terminal.run("list", *namespace, state="hdfs")
    terminal.run("verify", *namespace, state="map-store", code=2)
    terminal.run("gc", "--dry-run", *namespace, state="hdfs")
    assert not (tmp_path / "typo").exists()
    os.utime(terminal.state, (1, 1))
    for verb in (["list"], ["show", JOB], ["diff", JOB], ["verify"], ["export", f"{tmp_path}/a.zip"]):
        terminal.run(*verb)
    assert os.stat(terminal.state).st_mtime == 1


def test_verify_names_what_is_missing(terminal: Terminal) -> None:
    for path in Path(terminal.state, JOB, "attachments").iterdir():
        path.unlink()
    assert "refers to the enumeration" in terminal.run("verify", code=1)


def test_verify_says_how_far_it_is(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_EVERY_S", 0.0)
    terminal.run("verify")
    assert "read 3 of 10 objects" in terminal.complaint


def test_verify_has_a_bar_on_a_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "Everything is intact." in terminal.run("verify")
    assert "objects" not in terminal.complaint
    assert "reading" in terminal.complaint
    assert "10/10" in terminal.complaint
