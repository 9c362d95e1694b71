"""The logs of a node do not grow without bound."""

import os
from pathlib import Path

from seatunnel_core.server.logs.log_files import LogFiles


def write(path: Path, *, at: float, size: int = 1) -> None:
    path.write_bytes(b"x" * size)
    os.utime(path, (at, at))


def left_after_a_sweep(folder: Path, **more: int) -> set[str]:
    LogFiles(folder, 100, clock=lambda: 1_000.0, **more).sweep()
    return {path.name for path in folder.iterdir()}


def test_logs_of_jobs_are_kept_as_long_as_the_history(tmp_path: Path) -> None:
    write(tmp_path / "job-old.log", at=899)
    write(tmp_path / "job-new.log", at=901)
    write(tmp_path / "notes-of-the-user.log", at=1)
    write(tmp_path / "spark-1.log", at=1)
    write(tmp_path / "spark-99999999.log", at=1)
    (tmp_path / "job-linked.log").symlink_to(tmp_path / "notes-of-the-user.log")
    kept = {"job-new.log", "notes-of-the-user.log", "spark-1.log", "job-linked.log"}
    assert left_after_a_sweep(tmp_path) == kept


def test_so_many_logs_of_jobs_are_kept_and_no_more(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"job-{number}.log", at=950 + number)
    assert left_after_a_sweep(tmp_path, most=2) == {"job-3.log", "job-4.log"}


def test_a_large_log_of_a_process_is_set_aside_and_its_writer_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "seatunnel-engine-host.log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"x" * 11)
        assert left_after_a_sweep(tmp_path, largest=10) == {path.name, f"{path.name}.1"}
        writer.write(b"more")
    assert path.read_bytes() == b"more"
    assert left_after_a_sweep(tmp_path, largest=10) == {path.name, f"{path.name}.1"}
    assert (tmp_path / f"{path.name}.1").read_bytes() == b"x" * 11


def test_a_folder_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    LogFiles(tmp_path / "logs", 100).sweep()
