"""Whatever the umask, logs and state are accessible to their owner only."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.control.private_files import (
    accessible_to_others,
    is_changeable_by_others,
    open_private,
    private_folder,
)
from seatunnel_core.control.signing import SECRET_FILE, read_secret
from seatunnel_core.errors import UsageError
from seatunnel_core.server.host.job_logs import JobLogs
from seatunnel_core.server.logs.log_files import LogFiles
from seatunnel_core.server.transport.http_config import http_config
from seatunnel_core.server.transport.page_login import PASSWORD_FILE, with_page
from seatunnel_storage_api.links import ForeignFileError
from tests.planted import give_away, plant_link


def mode_of(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set the umask of this process."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_folders_and_files_are_private(umask: int, tmp_path: Path) -> None:
    folder = tmp_path / "above" / "logs"
    private_folder(folder)
    private_folder(folder)
    assert (mode_of(folder), mode_of(folder.parent) & 0o022) == (0o700, 0)
    for _ in range(2):
        with open_private(folder / "a.log") as log:
            log.write(b"x")
    assert (mode_of(folder / "a.log"), (folder / "a.log").read_bytes()) == (0o600, b"xx")


def test_logs_of_jobs_are_private_and_stay_so_when_they_are_set_aside(umask: int, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    logs = JobLogs(folder)
    logs.emit(logging.makeLogRecord({"msg": "hello", "job": "1"}))
    logs.close()
    with open_private(folder / "seatunnel-engine-server.log") as log:
        log.write(b"x" * 100)
    LogFiles(folder, 60.0, largest=50).sweep()
    assert {each.name: mode_of(each) for each in folder.iterdir()} == {
        "job-1.log": 0o600,
        "seatunnel-engine-server.log": 0o600,
        "seatunnel-engine-server.log.1": 0o600,
    }
    assert not accessible_to_others([folder, *folder.iterdir()])
    (folder / "job-1.log").chmod(0o640)
    assert accessible_to_others([folder, *folder.iterdir()]) == [folder / "job-1.log"]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return a file elsewhere, which must stay as it is."""
    path = tmp_path / "elsewhere" / "target"
    path.parent.mkdir()
    path.write_text("untouched")
    return path


def test_planted_links_lead_no_log_elsewhere(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a process, that of a job, a log that is set aside, and the folder of logs itself."""
    folder = tmp_path / "logs"
    private_folder(folder)
    large = folder / "seatunnel-engine-host.log"
    large.write_bytes(b"x" * 100)
    for name in ("seatunnel-engine-server.log", "job-1.log", f"{large.name}.1"):
        plant_link(folder / name, target, monkeypatch)
    plant_link(tmp_path / "linked", target.parent, monkeypatch)
    for mode in ("ab", "wb", "r+b", "rb"):
        with pytest.raises(ForeignFileError):
            open_private(folder / "seatunnel-engine-server.log", mode)
    logs = JobLogs(folder)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logs.emit(logging.makeLogRecord({"msg": "hello", "job": "1"}))
    logs.close()
    with pytest.raises(ForeignFileError):
        LogFiles(folder, 60.0, largest=50).sweep()
    with pytest.raises(ForeignFileError):
        private_folder(tmp_path / "linked" / "logs")
    assert [each.name for each in target.parent.iterdir()] == ["target"]
    assert target.read_text() == "untouched"
    assert large.stat().st_size == 100


def test_own_links_to_logs_are_followed(tmp_path: Path, target: Path) -> None:
    """As in a container, where a log is a link to the standard output."""
    (tmp_path / "log").symlink_to(target)
    with open_private(tmp_path / "log") as log:
        log.write(b"!")
    assert target.read_text() == "untouched!"


def test_a_planted_pipe_holds_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    tmp_path.chmod(0o777)
    give_away(pipe, monkeypatch)
    with pytest.raises(OSError, match="No such device"):
        open_private(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ForeignFileError):
            open_private(pipe)
    finally:
        os.close(reader)


def test_a_planted_secret_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user would know it: requests that it signs would be accepted."""
    tmp_path.chmod(0o777)
    for name in (SECRET_FILE, PASSWORD_FILE):
        (tmp_path / name).write_text("x" * 64)
        (tmp_path / name).chmod(0o600)
        give_away(tmp_path / name, monkeypatch)
    with pytest.raises(UsageError, match="belongs to another user"):
        read_secret(tmp_path / SECRET_FILE)
    options = load_engine(None).options
    with pytest.raises(UsageError, match="belongs to another user"):
        with_page(http_config(options, has_secret=True), options, tmp_path, has_secret=True)


def test_a_folder_of_logs_that_others_can_change_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_changeable_by_others(tmp_path)
    tmp_path.chmod(0o1777)
    assert not is_changeable_by_others(tmp_path), "others cannot replace entries of this user"
    tmp_path.chmod(0o770)
    assert is_changeable_by_others(tmp_path)
    tmp_path.chmod(0o700)
    give_away(tmp_path, monkeypatch)
    assert is_changeable_by_others(tmp_path)
