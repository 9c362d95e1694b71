"""Listing of folders that other processes change meanwhile."""

import os
from pathlib import Path

import pytest

from tests.live_folder import content_of, files_below, paths_below


def test_a_folder_that_disappears_while_it_is_listed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``rglob`` raised FileNotFoundError when Spark's JVM removed its temporary folder meanwhile."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("content")
    (tmp_path / "spark").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "spark":
            (tmp_path / "spark").rmdir()
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert files_below(tmp_path) == [tmp_path / "kept/file"]
    assert paths_below(tmp_path) == [tmp_path / "kept", tmp_path / "kept/file"]


def test_a_file_that_disappeared_has_no_content(tmp_path: Path) -> None:
    assert content_of(tmp_path / "gone") == b""
