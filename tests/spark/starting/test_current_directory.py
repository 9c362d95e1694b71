"""A process whose current directory was deleted."""

from pathlib import Path

import pytest

from seatunnel_core.spark.starting import session


def test_a_deleted_current_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason was ``[Errno 2] No such file or directory``, without a name."""
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    try:
        reason = session._reason(FileNotFoundError(2, "No such file or directory"), tmp_path / "spark.log", 0)
    finally:
        monkeypatch.undo()
    assert reason == "the current directory was deleted; change to another one with cd"
