"""Maps on local files, opened as by processes one after the other, and the files that they leave."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_mapstore.recovery import recover
from seatunnel_storage_mapstore.store import INLINE_BYTES, LoggedMap, fetch

from seatunnel_storage_api.blob import BlobStorage

Open = Callable[..., LoggedMap]
LARGE = b"x" * (INLINE_BYTES + 1)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Makes maps on the same files, as processes one after the other would; releases them at the end."""
    maps = []

    def make(**more: object) -> LoggedMap:
        storage = HdfsStorageFactory().create({"namespace": f"{tmp_path}/"})
        assert isinstance(storage, BlobStorage)
        maps.append(LoggedMap(storage, "map/", **more))  # type: ignore[arg-type]
        return maps[-1]

    yield make
    for each in maps:
        each.destroy()


def log_files(tmp_path: Path, ending: str = "") -> list[Path]:
    return sorted(path for path in (tmp_path / "map/log").iterdir() if path.is_file() and path.name.endswith(ending))


def size_bytes(tmp_path: Path) -> int:
    return sum(
        path.stat().st_size for path in (tmp_path / "map").rglob("*") if path.suffix in (".snapshot", ".segment")
    )


def read(store: LoggedMap) -> dict[str, bytes | None]:
    """What is on the disk, without taking the map over."""
    folder = store._folder
    return {key: fetch(folder, entry) for key, entry in recover(folder).entries.items()}


def content(store: LoggedMap) -> dict[str, bytes]:
    return store.load_all(store.load_all_keys())
