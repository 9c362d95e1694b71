"""Checkpoints through fsspec where no server is needed: one writer, options, messages, connections that end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
import seatunnel_storage_hdfs.filesystems.configuration
from fsspec.implementations.memory import MemoryFileSystem
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.filesystems.protocols import ConditionalPut

from seatunnel_storage_api.errors import (
    StaleEpochError,
    StorageAccessError,
    StorageConfigurationError,
    StorageUnavailableError,
)
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, at_once, checkpoint, claim, refs

FACTORY = HdfsStorageFactory()
ALONE = {"storage.type": "memory", "single-writer": "true"}


class FlakyFileSystem(MemoryFileSystem):
    """Memory whose connections a test can end, and which says what it was opened with."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    opened: ClassVar[list[dict[str, Any]]] = []
    failure: ClassVar[BaseException | None] = None

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.opened.append(options)

    def ls(self, path: str, detail: bool = True, **more: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        return super().ls(path, detail, **more)


@pytest.fixture
def flaky() -> Iterator[type[FlakyFileSystem]]:
    fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
    FlakyFileSystem.opened.clear()
    yield FlakyFileSystem
    FlakyFileSystem.failure = None
    FlakyFileSystem.store.clear()


def opened(namespace: str, **more: str) -> CheckpointStorage:
    return FACTORY.create({**ALONE, "namespace": namespace, **more})


def test_one_writer_stores_and_prunes(tmp_path: Path) -> None:
    with opened(f"{tmp_path}/", **{"max-retained": "2"}) as storage:
        epoch = claim(storage)
        for number in (1, 2, 3):
            storage.store_checkpoint(checkpoint(epoch, number, b"%d" % number))
        assert refs(storage) == [(epoch, 2), (epoch, 3)]
        assert storage.prune_failures == {}
    with opened(f"{tmp_path}/") as storage:
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.states == b"3"


def test_threads_of_one_process_are_one_writer(tmp_path: Path) -> None:
    storages = [opened(f"{tmp_path}/") for _ in range(6)]
    for _ in range(5):
        epochs = at_once(*(lambda each=each: claim(each) for each in storages))
        assert len(set(map(str, epochs))) == 6


def test_what_is_lost_is_spelled_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened(f"{tmp_path}/", **{"fs.memory.asynchronous": "false", "fs.sftp.host": "elsewhere"}).close()
    (idle, lost) = caplog.messages
    assert "This storage does not guarantee" in lost
    assert "promises 7, 8 and 10" in lost
    assert "'fs.sftp.host'" in idle


def test_what_a_dead_writer_left_is_swept(tmp_path: Path) -> None:
    more = {"storage.type": "dir", "fs.dir.path": str(tmp_path), "fs.dir.target_protocol": "file"}
    with opened("/below/", **more) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        unfinished = tmp_path / "below" / JOB / "000001" / ".tmp"
        (unfinished / "0000000001-00000000000000000002.checkpoint.base-none.ckpt.1-ab").write_bytes(b"half")
        assert refs(storage) == [(epoch, 1)]
        (found,) = storage.unfinished("")  # type: ignore[attr-defined]
        assert (found.key.rpartition("/")[0], found.size_bytes) == (f"{JOB}/000001/.tmp", 4)
        claim(storage)
        assert list(unfinished.iterdir()) == []


def test_a_put_that_was_swept_under_way_begins_again_and_hears_of_the_newer_engine(
    flaky: type[FlakyFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen on SFTP: the newer engine's claim swept what the older one had just written and not moved yet, and that one
    was told to create a bucket or folder that is missing."""
    with (
        opened("/swept/", **{"storage.type": "flaky"}) as older,
        opened("/swept/", **{"storage.type": "flaky"}) as newer,
    ):
        epoch = claim(older)
        newest, move = claim(newer), flaky.mv

        def swept_before(files: FlakyFileSystem, *paths: str, **more: Any) -> None:
            monkeypatch.setattr(flaky, "mv", move)
            newer.sweep_unfinished(f"{JOB}/000001/", f"{newest:010d}")  # type: ignore[attr-defined]
            move(files, *paths, **more)

        monkeypatch.setattr(flaky, "mv", swept_before)
        with pytest.raises(StaleEpochError):
            older.store_checkpoint(checkpoint(epoch, 1))
        assert flaky.mv is move
        assert refs(newer) == [(epoch, 1)]


def test_options_are_json_but_secrets_are_texts(flaky: type[FlakyFileSystem]) -> None:
    options = {"port": "22", "anon": "true", "host": "a.b", "nested": '{"a": [1]}', "password": "123", "none": "null"}
    opened("/options/", **{"storage.type": "flaky", **{f"fs.flaky.{name}": text for name, text in options.items()}})
    expected = {"port": 22, "anon": True, "host": "a.b", "nested": {"a": [1]}, "password": "123", "none": None}
    assert flaky.opened[0] == expected


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(flaky: type[FlakyFileSystem]) -> None:
    """fsspec's own ``find`` passes over it, and a job with checkpoints would begin again from nothing."""
    with opened("/lost/", **{"storage.type": "flaky"}) as storage:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        flaky.failure = OSError("the connection is gone")
        with pytest.raises(StorageUnavailableError, match="the connection is gone"):
            storage.list_checkpoints(JOB, 1)


def test_a_connection_that_ended_is_opened_again(flaky: type[FlakyFileSystem]) -> None:
    with opened("/again/", **{"storage.type": "flaky"}) as storage:
        claim(storage)
        assert len(flaky.opened) == 1
        flaky.failure = EOFError()
        with pytest.raises(StorageUnavailableError, match="EOFError"):
            storage.list_checkpoints(JOB, 1)
        flaky.failure = None
        assert storage.newest_epoch(JOB, 1) == 1
    assert len(flaky.opened) > 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (RuntimeError("cannot log in with password-canary\nmore"), StorageUnavailableError),
        (ValueError("password-canary is too short"), StorageAccessError),
        (type("Answer", (Exception,), {"status_code": 403})("password-canary"), StorageAccessError),
        (FileNotFoundError("no bucket"), StorageAccessError),
    ],
)
def test_no_message_shows_a_secret(
    flaky: type[FlakyFileSystem], failure: Exception, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **more: Any) -> None:
        raise failure

    monkeypatch.setattr(flaky, "pipe_file", fail)
    with pytest.raises(error) as caught:
        opened("/canary/", **{"storage.type": "flaky", "fs.flaky.password": "password-canary"})
    assert "flaky:///canary/.probe (flaky by fsspec)" in str(caught.value)
    assert "password-canary" not in str(caught.value)
    assert "password-canary" not in str(caught.value.__cause__)


def test_a_put_that_overwrites_is_found_at_the_start(
    flaky: type[FlakyFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that was thought to refuse a second put, and does not."""
    monkeypatch.setattr(seatunnel_storage_hdfs.filesystems.configuration, "CONDITIONAL", {"flaky": ConditionalPut()})
    monkeypatch.setattr(flaky, "exists", lambda *arguments, **more: False)
    with pytest.raises(StorageAccessError, match="a second put replaced the first"):
        FACTORY.create({"storage.type": "flaky", "namespace": "/overwrites/"})


def test_without_the_promise_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageConfigurationError, match="MemoryFileSystem checks first"):
        FACTORY.create({"storage.type": "memory", "namespace": f"{tmp_path}/"})


def test_memory_is_said_to_end_with_the_process(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(f"{tmp_path}/"):
        assert "that a checkpoint survives the end of this process" in caplog.text


@pytest.mark.parametrize(
    ("written", "misspelt", "missing"),
    [
        ({"storage.type": "s3", "s3.buket": "b"}, "did you mean 's3.bucket'?", "s3.bucket is ''"),
        ({"storage.type": "memory", "singlewriter": "true"}, "did you mean 'single-writer'?", "single-writer: true"),
    ],
)
def test_a_required_key_that_is_misspelt_is_named_too(
    written: dict[str, str], misspelt: str, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StorageConfigurationError, match=missing):
        FACTORY.create(written)
    assert misspelt in caplog.text
