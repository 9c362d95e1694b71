"""What a durable map does on local files: groups, bounds, failures, and who may write."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from seatunnel_storage_mapstore import frames, journal
from seatunnel_storage_mapstore.frames import Kind
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_storage_api.errors import (
    StaleEpochError,
    StorageClosedError,
    StorageUnavailableError,
    StorageUsageError,
)
from tests.plugins.mapstore import mapstore_files
from tests.plugins.mapstore.mapstore_files import LARGE, Open, content, log_files, size_bytes
from tests.plugins.system_calls import recorded

opened = mapstore_files.opened


@pytest.mark.parametrize("append", [True, False])
def test_every_verb_survives_the_process(opened: Open, append: bool) -> None:
    store = opened(append=append)
    store.store("a", b"1")
    store.store_all({"b": b"", "ключ": b"\0\n", "large": LARGE})
    store.store_all({})
    store.store("a", b"2")
    store.delete("b")
    store.delete_all(["absent", "b"])
    expected = {"a": b"2", "ключ": b"\0\n", "large": LARGE}
    again = opened()
    assert content(store) == content(again) == expected
    assert (again.load("b"), again.load("a"), again.load_all(["a", "b"])) == (None, b"2", {"a": b"2"})


def test_threads_that_write_at_once_share_an_fsync(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 threads, 10 changes each: while one group is synced, the others form the next one."""
    store = opened()
    store.open()
    store.store("first", b"")
    fsync, synced = os.fsync, []
    everybody = threading.Barrier(64)

    def counting(descriptor: int) -> None:
        synced.append(descriptor)
        fsync(descriptor)

    def write(thread: int) -> None:
        everybody.wait()
        for number in range(10):
            store.store(f"{thread}-{number}", b"value")

    monkeypatch.setattr(os, "fsync", counting)
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(write, range(64)))
    monkeypatch.undo()
    assert len(synced) < 640 / 4, f"{len(synced)} fsyncs for 640 changes"
    assert len(content(opened())) == 641


def test_one_change_is_one_write_one_fsync_and_then_one_listing(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order: a listing before the fsync could miss a writer that claims and reads in between."""
    store = opened()
    store.store("a", b"1")
    store.store("b", b"1")  # opens the file that the first group made
    calls = recorded(monkeypatch, "open", "write", "fsync", "link", "unlink", "scandir", "mkdir", "rename")
    store.store("c", b"1")
    assert calls == ["write", "fsync", "scandir"]


@pytest.mark.parametrize("append", [True, False])
def test_the_log_is_at_most_twice_the_live_entries_and_one_segment(opened: Open, tmp_path: Path, append: bool) -> None:
    limits = Limits(segment_bytes=4_000, most_segments=25)
    store = opened(append=append, limits=limits)
    live: dict[str, bytes] = {}
    for number in range(160):
        key, value = f"{number % 40}", b"%d" % number * (1 + number % 80)
        store.store(key, value)
        live[key] = value
        if number == 80:  # far fewer live entries from one moment to the next
            store.delete_all([f"{each}" for each in range(35)])
            live = {key: value for key, value in live.items() if int(key) >= 35}
        running = store._journal._compaction  # type: ignore[union-attr]
        if running is not None:
            running.join()
        live_bytes = len(frames.sealed(Kind.SNAPSHOT, [frames.snapshot_body(live)], map_name="", epoch=1, number=1))
        assert size_bytes(tmp_path) <= 2 * live_bytes + limits.segment_bytes
        assert len(log_files(tmp_path)) <= limits.most_segments + 2
    assert content(opened()) == live


def test_writers_go_on_while_the_log_is_compacted(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot is held up; changes are acknowledged meanwhile, and are there afterwards."""
    store = opened(limits=Limits(segment_bytes=2_000))
    store.store("a", b"1")
    held, asked = threading.Event(), threading.Event()
    put = store._folder.storage.put_if_absent

    def hold(key: str, body: bytes) -> bool:
        if key.endswith(".snapshot"):
            asked.set()
            assert held.wait(30)
        return put(key, body)

    monkeypatch.setattr(store._folder.storage, "put_if_absent", hold)
    numbers = iter(range(100_000))
    while not asked.is_set():
        store.store("a", b"%d" % next(numbers))
    snapshots = log_files(tmp_path, ".snapshot")
    store.store("b", b"meanwhile")
    assert log_files(tmp_path, ".snapshot") == snapshots
    held.set()
    store.destroy()
    assert log_files(tmp_path, ".snapshot") != snapshots
    assert opened().load("b") == b"meanwhile"


def test_many_threads_and_many_compactions_lose_nothing(opened: Open) -> None:
    store = opened(limits=Limits(segment_bytes=3_000))

    def write(thread: int) -> None:
        for number in range(60):
            store.store(f"{thread}-{number % 5}", b"%d" % number)
            assert store.load(f"{thread}-{number % 5}") == b"%d" % number
            if number % 7 == 0:
                store.store(f"{thread}-large", LARGE)
                store.delete(f"{thread}-{(number + 1) % 5}")

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(write, range(16)))
    expected = {f"{thread}-{n % 5}": b"%d" % n for thread in range(16) for n in range(57, 60)}
    found = content(opened())
    assert expected.items() <= found.items()
    assert {key for key, value in found.items() if value == LARGE} == {f"{thread}-large" for thread in range(16)}


@pytest.mark.parametrize("append", [True, False])
def test_the_older_writer_hears_it_and_what_it_writes_is_void(opened: Open, append: bool) -> None:
    older = opened(append=append)
    older.store("a", b"1")
    newer = opened(append=append)
    newer.open()
    for _ in range(2):
        with pytest.raises(StaleEpochError, match=r"epoch 2 was claimed.*open the map again"):
            older.store("a", b"zombie")
    assert newer.load("a") == b"1"
    with pytest.raises(StaleEpochError):
        older.destroy(delete_files=True)
    newer.store("b", b"2")
    assert content(opened()) == {"a": b"1", "b": b"2"}


def test_after_a_failed_write_nothing_follows_until_the_map_is_opened_again(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An fsync that failed may have thrown the pages away; what is on the disk is seen only by reading it."""
    store = opened()
    store.store("a", b"1")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patches:
        patches.setattr(os, "fsync", fail)
        with pytest.raises(StorageUnavailableError, match=r"Input/output error.*open the map again"):
            store.store("a", b"2")
    with pytest.raises(StorageUnavailableError):
        store.store("b", b"3")
    assert store.load_all(["a", "b"]) == {"a": b"1"}
    again = opened()
    assert again.load("a") in (b"1", b"2")
    assert again.load("b") is None


def test_a_compaction_that_fails_fails_no_change(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(limits=Limits(segment_bytes=200))
    store.open()

    def refuse(entries: object, number: int) -> None:
        raise PermissionError("no snapshots today")

    monkeypatch.setattr(store._journal, "_put_snapshot", refuse)
    for number in range(20):
        store.store("a", b"%d" % number)
    assert "no snapshots today" in caplog.text
    assert opened().load("a") == b"19"


def test_a_destroyed_map(opened: Open, tmp_path: Path) -> None:
    store = opened()
    store.store_all({"a": b"1", "large": LARGE})
    store.destroy()
    store.destroy()
    with pytest.raises(StorageClosedError, match="Create another one"):
        store.load("a")
    again = opened()
    assert again.load("large") == LARGE
    again.destroy(delete_files=True)
    assert [path.name for path in (tmp_path / "map").rglob("*") if path.is_file()] == ["0000000002.epoch"]
    assert opened().load_all_keys() == frozenset()


def test_replaced_values_outside_the_log_are_removed(opened: Open, tmp_path: Path) -> None:
    store = opened()
    for number in range(3):
        store.store("large", LARGE + b"%d" % number)
    assert len(list((tmp_path / "map/values").glob("*.value"))) == 1
    store.delete("large")
    assert list((tmp_path / "map/values").glob("*.value")) == []


def test_keys_that_cannot_be_written(opened: Open) -> None:
    store = opened()
    for key in ("k" * 70_000, "\ud800"):
        with pytest.raises(StorageUsageError, match="key"):
            store.store(key, b"")
    store.store("k" * 65_535, b"still works")
    assert journal.SEGMENT_BYTES == 2**20


def test_a_thread_that_is_interrupted_wakes_those_who_wait_with_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody may take a group for durable because the thread that led it was interrupted before it wrote."""
    store = opened()
    store.store("a", b"1")
    leading, joined = threading.Event(), threading.Event()
    fsync = os.fsync

    def interrupt(descriptor: int) -> None:
        leading.set()
        assert joined.wait(30)
        fsync(descriptor)
        raise KeyboardInterrupt

    def lead() -> None:
        with pytest.raises(KeyboardInterrupt):
            store.store("a", b"2")

    monkeypatch.setattr(os, "fsync", interrupt)
    with ThreadPoolExecutor(2) as threads:
        led = threads.submit(lead)
        assert leading.wait(30)
        followed = threads.submit(store.store, "b", b"3")
        joined.set()
        led.result()
        with pytest.raises(StorageUnavailableError, match="interrupted by KeyboardInterrupt"):
            followed.result()
    monkeypatch.undo()
    assert opened().load("b") is None
