"""The same path names the same files on every file system: a local disk, a server and the objects of a bucket."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest

from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.objects.store import Found, ObjectStore, Page
from seatunnel_core.connectors.filesystems.pattern import MOST_ALTERNATIVES, fixed_part, is_visible
from seatunnel_core.errors import SourceError, UsageError

Found_ = Callable[..., Sequence[str]]

TREE = (
    *("a.csv", "b.csv", ".c.csv", "_d.csv", "x{1}.csv", "[e].csv"),
    *("2024/01/a.json", "2024/01/_SUCCESS", "2024/02/b.json", "2025/01/c.json", "2024-summary/all.json"),
    *("year=1/x.csv", "year=1/_y.csv", "year=1/month=2/y.csv", "year=2/z.csv", "_year=3/w.csv", ".year=4/v.csv"),
    *("year=__HIVE_DEFAULT_PARTITION__/n.csv", "__HIVE_DEFAULT_PARTITION__/n.csv", "year=2/_hidden/a.csv"),
    *("_na/job-1-p1-s0-o0-e1-u1-a1-0-0.csv", "_na/other.csv", "_out-job-1-p1-s0-o0-e1-u1-a1-0-0.csv"),
    *("_theirs/T_1_0a0f_0_1_0.csv", "_temporary/0/t.csv", ".seatunnel/job/1/1/job-1-p1-s0-o0-e1-u1-a1-0-0.csv"),
    "year=1/month=2/.b/c",
)

DATA = (
    *("2024-summary/all.json", "2024/01/a.json", "2024/02/b.json", "2025/01/c.json", ".year=4/v.csv", "[e].csv"),
    *("_na/job-1-p1-s0-o0-e1-u1-a1-0-0.csv", "_out-job-1-p1-s0-o0-e1-u1-a1-0-0.csv", "_theirs/T_1_0a0f_0_1_0.csv"),
    *("__HIVE_DEFAULT_PARTITION__/n.csv", "_year=3/w.csv", "a.csv", "b.csv", "x{1}.csv", "year=1/month=2/y.csv"),
    *("year=1/x.csv", "year=2/z.csv", "year=__HIVE_DEFAULT_PARTITION__/n.csv"),
)
"""What all of the folder is."""


class Objects(ObjectStore):
    """A bucket that can be listed."""

    task_modules: ClassVar[tuple[str, ...]] = ()
    bucket = "bucket"
    schemes = ("s3",)

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = sorted(keys)

    def head(self, key: str) -> Found:
        if key not in self.keys:
            raise FileNotFoundError(2, "No such file or directory", key)
        return Found(key=key, size=2, modified_s=0, etag="e")

    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        """Of three keys, so that pages end in folders."""
        rest = [key for key in self.keys if key.startswith(prefix) and key > (more or "")]
        found = [self.head(key) for key in rest[:3] if deep or "/" not in key[len(prefix) :]]
        return Page(objects=found, more=rest[2] if len(rest) > 3 else None)

    get = put = copy = delete = begin = send = send_copy = complete = abort = uploads = require_writable = (  # type: ignore[assignment]
        days_of_objects
    ) = None  # type: ignore[assignment]


def on_disk(folder: Path) -> tuple[FileSystem, str]:
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1\n")
    return LocalFileSystem(), f"{folder}/"


def on_a_server(_: Path) -> tuple[FileSystem, str]:
    server = fsspec.filesystem("memory")
    for name in TREE:
        server.makedirs(f"/in/{name}".rpartition("/")[0], exist_ok=True)
        server.pipe_file(f"/in/{name}", b"1\n")
    return FsspecFileSystem(protocol="memory", top="memory:/"), "/in/"


def in_a_bucket(_: Path) -> tuple[FileSystem, str]:
    return ObjectFileSystem(store=Objects([f"in/{name}" for name in TREE])), "/in/"


@pytest.fixture(params=[on_disk, on_a_server, in_a_bucket])
def found(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Found_]:
    files, begin = request.param(tmp_path)

    def names(path: str, *, recursive: bool = True) -> list[str]:
        whole = files.named(begin + path)
        paths = [version.path for version in files.walk(whole, recursive=recursive)]
        return sorted(each.removeprefix(files.named(begin).rstrip("/") + "/") for each in paths)

    yield names
    server: Any = fsspec.filesystem("memory")
    server.store.clear()
    server.pseudo_dirs[:] = [""]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", DATA),
        ("**", DATA),
        ("**/**", DATA),
        ("**/", DATA),
        ("**/*.json", ["2024-summary/all.json", "2024/01/a.json", "2024/02/b.json", "2025/01/c.json"]),
        ("2024/**/*.json", ["2024/01/a.json", "2024/02/b.json"]),
        ("2024/**/01/**", ["2024/01/a.json"]),
        ("2024", ["2024/01/a.json", "2024/02/b.json"]),
        ("2024*", ["2024-summary/all.json", "2024/01/a.json", "2024/02/b.json"]),
        ("202?", ["2024/01/a.json", "2024/02/b.json", "2025/01/c.json"]),
        ("202?/01/", ["2024/01/a.json", "2025/01/c.json"]),
        ("{2024,2025}/01", ["2024/01/a.json", "2025/01/c.json"]),
        ("{2024/0{1,2},2024}/*.json", ["2024/01/a.json", "2024/02/b.json"]),
        ("{a,**/a}.csv", ["a.csv"]),
        ("x{1}.csv", ["x{1}.csv"]),
        ("x{*}.csv", ["x{1}.csv"]),
        ("[e].csv", ["[e].csv"]),
        ("[!a].csv", ["b.csv"]),
        ("[^a].csv", ["b.csv"]),
        ("*.csv", ["[e].csv", "_d.csv", "_out-job-1-p1-s0-o0-e1-u1-a1-0-0.csv", "a.csv", "b.csv", "x{1}.csv"]),
        ("*.csv/", None),
        (".*.csv", [".c.csv"]),
        ("_d*", ["_d.csv"]),
        ("_*/*", ["__HIVE_DEFAULT_PARTITION__/n.csv", "_na/job-1-p1-s0-o0-e1-u1-a1-0-0.csv", "_na/other.csv",
                  "_theirs/T_1_0a0f_0_1_0.csv", "_year=3/w.csv"]),
        ("year=*", ["year=1/month=2/y.csv", "year=1/x.csv", "year=2/z.csv", "year=__HIVE_DEFAULT_PARTITION__/n.csv"]),
        ("*/month=2", ["year=1/month=2/y.csv"]),
        ("?e[a]r=1", ["year=1/month=2/y.csv", "year=1/x.csv"]),
        ("[z-a]*", None),
        ("absent*", None),
    ],
)  # fmt: skip
def test_a_path_names_each_file_once_and_the_same_everywhere(
    found: Found_, path: str, expected: Sequence[str] | None
) -> None:
    """``in/**`` took the folders for what they hold once more, and gave a file for every one above it; folders of
    values that begin with ``_`` gave none; braces and ``[^a]`` were names like any."""
    if expected is None:
        with pytest.raises(SourceError, match="no file matches the pattern"):
            found(path)
    else:
        assert found(path) == sorted(expected)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("2024", []),
        ("year=1", ["year=1/x.csv"]),
        ("year=*", ["year=1/x.csv", "year=2/z.csv", "year=__HIVE_DEFAULT_PARTITION__/n.csv"]),
        ("year=1/**", ["year=1/month=2/y.csv", "year=1/x.csv"]),
    ],
)
def test_a_scan_that_is_not_recursive(found: Found_, path: str, expected: Sequence[str]) -> None:
    assert found(path, recursive=False) == expected


def test_files_that_nobody_reads_are_reported(found: Found_, caplog: pytest.LogCaptureFixture) -> None:
    """They were left out silently, and their rows with them."""
    with caplog.at_level(logging.WARNING):
        found("year=?")
    assert "2 files are skipped because their names, or names of their folders, start with _, such as" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found("2024/01")
    assert caplog.text == ""


def test_links_are_followed_but_not_around(tmp_path: Path) -> None:
    """A link to a folder above it gave each file forty times, until the system had enough."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.csv").write_text("1\n")
    (tmp_path / "in" / "deep" / "up").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "deep" / "self").symlink_to(".")
    (tmp_path / "in" / "other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / ".#nowhere").symlink_to("nobody@host")
    for path in ("in", "in/**", "in/**/*.csv"):
        found = [version.path for version in LocalFileSystem().walk(f"{tmp_path}/{path}", recursive=True)]
        assert sorted(found) == [f"{tmp_path}/in/a.csv", f"{tmp_path}/in/other/b.csv"]
    (tmp_path / "in" / "nowhere.csv").symlink_to("absent")
    with pytest.raises(SourceError, match=r"in/nowhere\.csv cannot be listed: No such file"):
        list(LocalFileSystem().walk(f"{tmp_path}/in", recursive=True))


def test_what_no_pattern_means_is_not_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "a.csv").write_text("1\n")
    found = LocalFileSystem().walk(f"{tmp_path}/*.csv", recursive=True)
    assert [version.path for version in found] == [f"{tmp_path}/a.csv"]
    (tmp_path / "closed").chmod(0o700)


def test_a_pattern_that_names_an_empty_folder_names_something(tmp_path: Path) -> None:
    (tmp_path / "a1").mkdir()
    assert list(LocalFileSystem().walk(f"{tmp_path}/a*", recursive=True)) == []


def test_patterns_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match=f"expands to more than {MOST_ALTERNATIVES} patterns"):
        list(LocalFileSystem().walk("/in/" + "{a,b}" * 20, recursive=True))
    with pytest.raises(UsageError, match=r"contains \.\. after a pattern"):
        list(LocalFileSystem().walk("/in/*/../a", recursive=True))


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/in/*.csv", "/in"), ("/in/{a/1,a/2}.csv", "/in/a"), ("/{a,b}/x", "/"), ("*.csv", "."), ("in/*/b", "in")],
)
def test_the_folder_above_a_pattern(path: str, folder: str) -> None:
    assert fixed_part(path, "/") == folder


def test_members_of_archives_follow_the_same_rule() -> None:
    names = ["a.csv", "deep/b.csv", "_SUCCESS", "__MACOSX/._a.csv", ".x/a.csv", "_k=1/c.csv"]
    assert [name for name in names if is_visible(name)] == ["a.csv", "deep/b.csv", "_k=1/c.csv"]
