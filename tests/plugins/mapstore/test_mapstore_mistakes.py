"""Make each mistake of ``map-store`` in ``mistakes-storages.md`` on local files, and compare the message."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from seatunnel_storage_mapstore import frames, map_config
from seatunnel_storage_mapstore.factory import MapStorageFactory
from seatunnel_storage_mapstore.maps import FileMapStoreFactory
from seatunnel_storage_mapstore.store import LoggedMap

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.testing.given import checkpoint
from tests.plugins import page

TABLE = page.mistakes("map-store")
OURS = "seatunnel_storage_mapstore.maps.FileMapStoreFactory"
Mistake = Callable[[Path], object]


def _checkpoints(**configuration: str) -> Mistake:
    """The mistake is in ``plugin-config``."""
    return lambda folder: MapStorageFactory().create({"namespace": f"{folder}/", **configuration}).close()


def _block(**block: object) -> Mistake:
    """The mistake is in a ``map-store`` block."""
    return lambda folder: map_config.parse({"map": {"engine*": {"map-store": {"factory-class-name": OURS, **block}}}})


def _properties(**properties: str) -> Mistake:
    """The mistake is in the ``properties``."""
    return lambda folder: _map(folder, **properties)


def _map(folder: Path, name: str = "jobs", **properties: str) -> LoggedMap:
    return FileMapStoreFactory().create(name, {"namespace": str(folder), **properties})


def _equally_well(folder: Path) -> None:
    block = {"map-store": {"factory-class-name": OURS}}
    map_config.parse({"map": {"engine*": block, "*_state": block}}).of("engine_state")


def _second_writer(folder: Path) -> None:
    first = _map(folder)
    first.store("a", b"1")
    _map(folder).open()
    first.store("a", b"2")


def _full_disk(folder: Path) -> None:
    store = _map(folder)
    store.store("a", b"1")

    def full(descriptor: int, body: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(os, "write", full)
        store.store("a", b"2")


def _written(folder: Path) -> Path:
    """The segment of a map that one process has written and released."""
    store = _map(folder)
    store.store_all({"a": b"1", "b": b"2"})
    store.destroy()
    (segment,) = (folder / "seatunnel-cluster/jobs/log").glob("*.segment")
    return segment


def _flipped(folder: Path) -> None:
    segment = _written(folder)
    whole = segment.read_bytes()
    segment.write_bytes(whole[:80] + b"!" + whole[81:])
    _map(folder).open()


def _lost_snapshot(folder: Path) -> None:
    (snapshot,) = _written(folder).parent.glob("*.snapshot")
    snapshot.unlink()
    _map(folder).open()


def _lost_segment(folder: Path) -> None:
    segment = _written(folder)
    segment.rename(str(segment).replace("01.segment", "02.segment"))
    _map(folder).open()


def _another_map(folder: Path) -> None:
    _written(folder)
    os.rename(folder / "seatunnel-cluster/jobs", folder / "seatunnel-cluster/other")
    _map(folder, "other").open()


def _newer_version(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(frames, "FORMAT_VERSION", 2)
        _written(folder)
    _map(folder).open()


def _destroyed(folder: Path) -> None:
    store = _map(folder)
    store.destroy()
    store.load("a")


def _hostile_job(folder: Path) -> None:
    with MapStorageFactory().create({"namespace": f"{folder}/"}) as storage:
        storage.store_checkpoint(checkpoint(1, 1, job_id=".."))


MISTAKES: dict[str, Mistake] = {
    "the namespace of checkpoints has no slash at its end": _checkpoints(namespace="/data/checkpoints"),
    "a folder that cannot be made": _checkpoints(namespace="/proc/checkpoints/"),
    "an unknown `storage.type`": _checkpoints(**{"storage.type": "tape"}),
    "nothing is to be kept": _checkpoints(**{"max-retained": "0"}),
    "a job id that would leave the namespace": _hostile_job,
    "the factory has another name": _block(**{"factory-class-name": "org.example.MyFactory"}),
    "no factory": _block(**{"factory-class-name": None}),
    "a mode that there is not": _block(**{"initial-mode": "SOON"}),
    "`enabled` is neither true nor false": _block(enabled="perhaps"),
    "a misspelt key": _block(initial_mode="EAGER"),
    "`properties` is a list": _block(properties=["type", "hdfs"]),
    "two patterns fit a map": _equally_well,
    "a `type` of map store that there is not": _properties(type="mysql"),
    "`clusterName` is a path": _properties(clusterName="a/b"),
    "the namespace of maps is not absolute": _properties(namespace="imap"),
    "local files, and an address of HDFS": _properties(
        **{"storage.type": "local", "fs.defaultFS": "hdfs://localhost:9000"}
    ),
    "a map name that would leave the namespace": lambda folder: _map(folder, "../other"),
    "a key that is too long": lambda folder: _map(folder).store("k" * 70_000, b""),
    "a second process opened the map": _second_writer,
    "the disk is full": _full_disk,
    "a flipped bit in the log": _flipped,
    "a snapshot was removed by hand": _lost_snapshot,
    "a segment was removed by hand": _lost_segment,
    "the folder of a map was renamed": _another_map,
    "a newer version wrote the map": _newer_version,
    "a map is used after its end": _destroyed,
}


def test_the_page_and_the_tests_name_the_same_mistakes() -> None:
    assert len(TABLE) >= 12
    assert set(TABLE) == set(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_as_the_page_says(tmp_path: Path, mistake: str) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        MISTAKES[mistake](tmp_path)
    page.require_told(TABLE[mistake], str(caught.value))
