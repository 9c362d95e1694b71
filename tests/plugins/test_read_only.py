"""A storage that is opened to look only: no folder is made, nothing is tried by writing, and storing is refused."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim, refs
from tests.servers.objects import oss

pytestmark = pytest.mark.filterwarnings("ignore:the checkpoint storage localfile is deprecated:DeprecationWarning")

MEMORY = {"storage.type": "memory", "single-writer": "true"}
KINDS = {
    "hdfs": ("hdfs", {}),
    "jdbc": ("jdbc", {"url": "jdbc:sqlite:HERE.db"}),
    "localfile": ("localfile", {}),
    "map-store": ("map-store", {}),
    "fsspec": ("hdfs", MEMORY),
}


def everything(folder: Path) -> dict[str, float]:
    found = {str(path): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]} if folder.exists() else {}
    return {**found, **dict.fromkeys(MemoryFileSystem.store, 0)}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """``HERE`` stands for a file of the test."""
    identifier, more = KINDS[request.param]
    yield identifier, {key: value.replace("HERE", f"{tmp_path}/state") for key, value in more.items()}
    MemoryFileSystem.store.clear()


def test_what_is_not_there_is_not_made(kind: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    identifier, more = kind
    before = everything(tmp_path)
    with open_storage(identifier, {**more, "namespace": f"{tmp_path}/typo/"}, read_only=True) as storage:
        assert storage.list_jobs() == ()
    assert everything(tmp_path) == before


def test_what_is_there_is_read_and_storing_is_refused(kind: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    identifier, more = kind
    written = {**more, "namespace": f"{tmp_path}/state/"}
    with open_storage(identifier, written) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1, b"one"))
        storage.put_manifest(JOB, 1, b"manifest")
    before = everything(tmp_path)
    with open_storage(identifier, written, read_only=True) as storage:
        assert refs(storage) == [(epoch, 1)]
        assert storage.get_manifest(JOB) is not None
        changes: list[Callable[[], object]] = [
            lambda: storage.store_checkpoint(checkpoint(epoch, 2, b"two")),
            lambda: claim(storage),
            lambda: storage.put_manifest(JOB, 2, b"manifest"),
            lambda: storage.store_attachment(JOB, b"attachment"),
            lambda: storage.delete_job(JOB),
        ]
        for change in changes:
            with pytest.raises(StorageAccessError, match="was opened read-only"):
                change()
    assert everything(tmp_path) == before


def test_keys_that_may_not_put_are_enough_to_look_on_oss(tmp_path: Path) -> None:
    server = oss.OssStandIn(tmp_path)
    server.start()
    try:
        configuration = server.configuration("/looked-at/")
        with open_storage("hdfs", configuration) as storage:
            epoch = claim(storage)
            storage.store_checkpoint(checkpoint(epoch, 1, b"one"))
        server.set(denied={oss.KEY_ID: ["PutObject", "DeleteObject"]})
        with pytest.raises(StorageAccessError):
            open_storage("hdfs", configuration)
        with open_storage("hdfs", configuration, read_only=True) as storage:
            assert refs(storage) == [(epoch, 1)]
    finally:
        server.kill()
