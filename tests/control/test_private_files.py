"""Whatever the umask, logs and state are accessible to their owner only."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.control.private_files import accessible_to_others, open_private, private_folder
from seatunnel_core.server.agent.log_files import LogFiles
from seatunnel_core.server.host.job_logs import JobLogs


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
