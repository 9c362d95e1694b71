"""Which files of a watched folder are new: decided from listings alone."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing.drive import options_of, through_json
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.connectors.file.watching import FolderChanges, Memory, Watch
from seatunnel_core.connectors.filesystems.filesystem import FileVersion
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.errors import SourceError, StoredValueError, UsageError

Files = dict[str, tuple[int, int]]
"""By path: size and time."""


class Watched:
    """A folder that is listed every 10 seconds of a clock that only moves here."""

    def __init__(self, **options: Any) -> None:
        self.watch = Watch(interval_ms=10_000, **options)
        self.memory = Memory()
        self.now_ms = 1_000_000_000

    def poll(self, files: Files, after_ms: int = 10_000) -> FolderChanges:
        """Remembers as a checkpoint does."""
        self.now_ms += after_ms
        look = self.watch.poll(versions(files), self.memory, self.now_ms)
        self.memory = Memory.of(through_json(look.memory.body()))
        assert self.memory == look.memory
        return look

    def taken(self, files: Files, after_ms: int = 10_000) -> list[str]:
        return [version.path for version in self.poll(files, after_ms).taken]


def versions(files: Files) -> Iterable[FileVersion]:
    return (FileVersion(path=path, size=size, mtime_ns=time) for path, (size, time) in files.items())


class TestTakingUp:
    def test_a_file_that_two_listings_show_alike_is_taken_up_once(self) -> None:
        watched, files = Watched(), {"/d/a": (5, 1)}
        assert [watched.taken(files) for _ in range(4)] == [[], ["/d/a"], [], []]

    def test_a_file_that_is_being_written_is_not(self) -> None:
        watched = Watched()
        taken = [watched.taken({"/d/a": state}) for state in [(5, 1), (9, 1), (9, 2), (9, 2)]]
        assert taken == [[], [], [], ["/d/a"]]

    def test_a_file_with_nothing_in_it_is_not(self) -> None:
        """Who opens a file and writes later would be read as having written nothing."""
        watched = Watched()
        assert [watched.taken({"/d/a": (size, 1)}) for size in (0, 0, 0, 3, 3)] == [[], [], [], [], ["/d/a"]]

    @pytest.mark.parametrize("name", ["a.csv.tmp", "a.csv.part", "a.inprogress", "a._COPYING_", "a.csv~"])
    def test_the_name_may_say_that_it_is_being_written(self, name: str) -> None:
        watched = Watched()
        assert [watched.taken({f"/d/{name}": (5, 1)}) for _ in range(3)] == [[], [], []]

    def test_a_late_file_is_seen_whatever_its_name_and_time_say(self) -> None:
        watched = Watched()
        watched.poll({"/d/b": (5, 9)})
        watched.poll({"/d/b": (5, 9), "/d/a": (5, 1)})
        assert watched.taken({"/d/b": (5, 9), "/d/a": (5, 1)}) == ["/d/a"]

    def test_the_oldest_come_first(self) -> None:
        watched, files = Watched(), {"/d/b": (5, 1), "/d/c": (5, 3), "/d/a": (5, 3)}
        watched.poll(files)
        assert watched.taken(files) == ["/d/b", "/d/a", "/d/c"]

    def test_more_than_one_look_takes_wait_for_the_next_ones_which_come_at_once(self) -> None:
        watched, files = Watched(most=2), {f"/d/{name}": (5, 1) for name in "abcde"}
        watched.poll(files)
        files["/d/new"] = (5, 1)
        looks = [watched.poll(files, after_ms=0 if at else 10_000) for at in range(3)]
        assert [[version.path for version in look.taken] for look in looks] == [
            ["/d/a", "/d/b"],
            ["/d/c", "/d/d"],
            ["/d/e"],
        ]
        assert [look.again_ms for look in looks] == [0, 0, 10_000]
        assert watched.taken(files) == ["/d/new"], "what was listed again at once was not seen twice"

    def test_what_changes_while_it_waits_is_looked_at_anew(self) -> None:
        watched, files = Watched(most=1), {"/d/a": (5, 1), "/d/b": (5, 2)}
        watched.poll(files)
        assert watched.taken(files) == ["/d/a"]
        files["/d/b"] = (7, 3)
        assert [watched.taken(files, after_ms) for after_ms in (0, 10_000, 10_000)] == [[], [], ["/d/b"]]

    def test_two_listings_are_an_interval_apart_also_over_a_restart(self) -> None:
        watched, files = Watched(), {"/d/a": (5, 1)}
        watched.poll(files)
        look = watched.poll(files, after_ms=3_000)
        assert (look.taken, look.again_ms) == ((), 7_000)
        assert watched.taken(files, after_ms=7_000) == ["/d/a"]

    def test_a_clock_that_was_put_back_does_not_stop_it(self) -> None:
        watched, files = Watched(), {"/d/a": (5, 1)}
        watched.poll(files)
        assert watched.taken(files, after_ms=-3_600_000) == ["/d/a"]

    def test_from_now_on(self) -> None:
        watched = Watched(from_now_on=True)
        files = {"/d/old": (5, 1)}
        watched.poll(files)
        watched.poll(files | {"/d/new": (5, 1)})
        assert watched.taken(files | {"/d/new": (5, 1)}) == ["/d/new"]


class TestAfterwards:
    def begun(self) -> Watched:
        """Three files are read."""
        watched = Watched()
        for _ in range(2):
            look = watched.poll(self.files)
        assert len(look.taken) == 3
        return watched

    files: Files = {"/d/a": (5, 1), "/d/b": (5, 2), "/d/c": (5, 3)}  # noqa: RUF012

    def test_a_file_that_changes_is_named_once_and_not_read_again(self) -> None:
        watched = self.begun()
        changed = self.files | {"/d/b": (8, 7), "/d/a": (5, 4)}
        look = watched.poll(changed)
        assert look.taken == ()
        assert look.warnings == (
            "these files changed after they were read, and are not read again: /d/a, /d/b. "
            "Write new rows into new files",
        )
        assert [watched.poll(changed).warnings for _ in range(2)] == [(), ()]

    def test_of_many_a_few_are_named(self) -> None:
        files = {f"/d/{number}": (5, 1) for number in range(8)}
        watched = Watched(from_now_on=True)
        watched.poll(files)
        (warning,) = watched.poll(dict.fromkeys(files, (6, 1))).warnings
        assert "/d/0, /d/1, /d/2, /d/3, /d/4 and 3 more" in warning

    def test_a_file_that_is_gone_is_forgotten_after_two_listings(self) -> None:
        watched = self.begun()
        size = len(watched.memory.body()["seen"])
        left = {"/d/a": (5, 1)}
        watched.poll(left)
        assert len(watched.memory.missing) == 2
        watched.poll(left)
        assert len(watched.memory.body()["seen"]) < size
        assert (len(watched.memory.seen), len(watched.memory.missing)) == (1, 0)
        watched.poll(self.files)
        assert watched.taken(self.files) == ["/d/b", "/d/c"], "who brings one back wants it read"

    def test_a_file_that_one_listing_missed_was_read(self) -> None:
        watched = self.begun()
        watched.poll({"/d/a": (5, 1)})
        assert [watched.taken(self.files) for _ in range(3)] == [[], [], []]

    def test_a_folder_that_looks_empty_forgets_nothing(self) -> None:
        """A disk that is not mounted for a while: all of it would be read again."""
        watched = self.begun()
        for _ in range(5):
            watched.poll({})
        assert [watched.taken(self.files) for _ in range(3)] == [[], [], []]

    def test_what_is_remembered_is_about_as_long_as_the_folder(self) -> None:
        """Ten thousand files came and went; a hundred are there at a time."""
        watched, rng = Watched(), random.Random(1)
        read: list[str] = []
        for start in range(0, 10_000, 50):
            files = {f"/d/{number:05}": (rng.randint(1, 9), number) for number in range(start, start + 100)}
            files |= dict.fromkeys(files, (5, 5))
            read += watched.taken(files)
        assert len(read) == len(set(read)) == 9_950
        assert sum(len(each) for each in watched.memory.body().values() if isinstance(each, str)) < 22 * 200


@pytest.mark.parametrize("seen", ["é", "a", "QQ==", 5])
def test_a_memory_that_nobody_wrote_is_refused(seen: Any) -> None:
    with pytest.raises(StoredValueError):
        Memory.of({**Memory(listed_ms=1).body(), "seen": seen})


class TestSource:
    """The source over a real folder."""

    def source(self, path: Path | str, **options: Any) -> LocalFileSource:
        said = {"path": str(path), "file_format_type": "csv", "discovery_mode": "continuous", "scan_interval": 100}
        said["schema"] = {"fields": {"id": "bigint"}}
        return LocalFileSource(options_of(LocalFileSource, said | options))

    def settled(self, source: LocalFileSource, memory: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
        """What two listings find that are an interval apart."""
        planning = PlanningContext(parallelism=1)
        for now_ms in (1_000, 2_000):
            monkeypatch.setattr("time.time_ns", lambda now_ms=now_ms: now_ms * 1_000_000)
            polled = source.poll(memory, planning)
            memory = through_json(dict(polled.cursor))
        return polled

    def test_its_enumeration_lists_nothing_and_has_the_schema(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("1\n")
        source = self.source(tmp_path)
        assert not source.bounded
        assert source.discover(PlanningContext(parallelism=1)) == ()
        found = source.enumerate((), PlanningContext(parallelism=1))
        assert found.splits == ()
        assert found.schemas[0].columns.names == ["id"]

    def test_it_cuts_what_it_finds_and_leaves_out_what_is_hidden(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a.csv", ".hidden.csv", "_temporary.csv", "b.csv.tmp"):
            (tmp_path / name).write_text("1\n2\n")
        source = self.source(tmp_path)
        polled = self.settled(source, {}, monkeypatch)
        assert (len(polled.items), polled.inspect, polled.again_ms) == (1, False, 100)
        (split,) = source.enumerate(polled.items, PlanningContext(parallelism=1)).splits
        assert split.body["path"] == str(tmp_path / "a.csv")

    def test_parquet_is_looked_into_by_tasks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a.parquet").write_text("not opened here")
        polled = self.settled(self.source(tmp_path, file_format_type="parquet"), {}, monkeypatch)
        assert polled.inspect

    def test_a_pattern_may_name_nothing_yet_and_a_folder_must_be_there(self, tmp_path: Path) -> None:
        planning = PlanningContext(parallelism=1)
        assert self.source(tmp_path / "*.csv").poll({}, planning).items == ()
        with pytest.raises(SourceError, match="absent cannot be listed"):
            self.source(tmp_path / "absent").poll({}, planning)

    def test_folders_give_the_columns_that_the_path_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Which others will come is not known when the columns are fixed."""
        folder = tmp_path / "year=2024" / "day=1"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("1\n")
        source = self.source(tmp_path / "year=*")
        assert source.enumerate((), PlanningContext(parallelism=1)).schemas[0].columns.names == ["id", "year"]
        polled = self.settled(source, {}, monkeypatch)
        (split,) = source.enumerate(polled.items, PlanningContext(parallelism=1)).splits
        assert split.body["keys"] == ["year"]

    def test_the_columns_have_to_be_declared(self, tmp_path: Path) -> None:
        said = {"path": str(tmp_path), "file_format_type": "csv", "discovery_mode": "continuous"}
        with pytest.raises(UsageError, match=r"the columns of future files are unknown.*schema \{ fields"):
            LocalFileSource(options_of(LocalFileSource, said))

    def test_a_file_that_vanishes_while_it_is_listed_is_left_out(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.csv").write_text("1\n")
        monkeypatch.setattr(LocalFileSystem, "listed", lambda self, _entry: None)
        assert self.settled(self.source(tmp_path), {}, monkeypatch).items == ()


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    """It does not vanish while it is listed: it is there, and its file is not."""
    (tmp_path / "a.csv").symlink_to(tmp_path / "absent")
    with pytest.raises(SourceError, match=r"a\.csv cannot be listed: No such file"):
        list(LocalFileSystem().walk(str(tmp_path), recursive=True))


@pytest.mark.parametrize(("written", "interval_ms"), [("10S", 10_000), ("PT10S", 10_000), ("pt1m", 60_000), (250, 250)])
def test_the_interval_as_people_write_it(written: Any, interval_ms: int) -> None:
    assert opt.SCAN_INTERVAL.type.parse(written) == interval_ms


@pytest.mark.parametrize("written", ["99", "PT", "often", True])
def test_an_interval_that_is_none_or_too_short(written: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        opt.SCAN_INTERVAL.type.parse(written)
