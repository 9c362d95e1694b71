"""Symbolic links of other users are not followed, and those of this user and of root are."""

import errno
import os
from pathlib import Path

import pytest

from seatunnel_storage_api.links import ForeignFileError, require_own_file, require_own_links
from tests.planted import give_away, plant_link


def test_own_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "below").mkdir(parents=True)
    (tmp_path / "absolute").symlink_to(tmp_path / "real")
    (tmp_path / "relative").symlink_to("./absolute/../real/below")
    for path in ("relative", "absolute/below", "absolute/below/missing/file", "real/../relative", "./relative/.."):
        require_own_links(str(tmp_path / path))
    monkeypatch.chdir(tmp_path)
    require_own_links("relative")


def test_a_link_of_another_user_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the path itself, on the way to it, and behind a link of this user."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "own").symlink_to("shared/planted")
    (tmp_path / "shared").mkdir()
    plant_link(tmp_path / "shared" / "planted", tmp_path / "elsewhere", monkeypatch)
    for path in ("shared/planted", "shared/planted/file", "shared/planted/../x", "own", "own/deep/file"):
        with pytest.raises(ForeignFileError, match=r"symbolic link belongs to another user .*: '.*shared/planted'"):
            require_own_links(str(tmp_path / path))


def test_where_only_this_user_can_write_a_link_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the links in an archive that root unpacked: they keep the user of whoever packed it."""
    if os.geteuid():
        pytest.skip("only root can give a link away")
    (tmp_path / "link").symlink_to("real")
    give_away(tmp_path / "link", monkeypatch)
    require_own_links(str(tmp_path / "link"))


def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels") as raised:
        require_own_links(str(tmp_path / "a"))
    assert raised.value.errno == errno.ELOOP


def test_a_file_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch()
    require_own_file(str(path), path.stat())
    tmp_path.chmod(0o777)
    require_own_file(str(path), path.stat())
    give_away(path, monkeypatch)
    with pytest.raises(ForeignFileError, match="this file belongs to another user"):
        require_own_file(str(path), path.stat())
