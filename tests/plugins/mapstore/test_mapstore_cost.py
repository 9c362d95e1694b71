"""What each verb of ``map-store`` asks of the storage beneath, as ``docs/guides/storages/map-store.md`` says."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from seatunnel_storage_mapstore.factory import MapStorageFactory
from seatunnel_storage_mapstore.store import INLINE_BYTES

from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.plugins.mapstore.mapstore_cost import requests_beneath

LARGE = b"x" * (INLINE_BYTES + 1)


def opened(folder: Path) -> CheckpointStorage:
    return MapStorageFactory().create({"namespace": f"{folder}/", "storage.type": "local", "max-retained": "3"})


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[CheckpointStorage]:
    with opened(tmp_path) as storage:
        yield storage


@pytest.mark.parametrize(
    ("states", "store", "prune"),
    [
        (b"small", {"put": 1, "list": 1}, {"put": 1, "list": 1}),
        (LARGE, {"put": 2, "list": 1}, {"put": 1, "list": 1, "delete": 1}),
    ],
    ids=["small", "large"],
)
def test_what_a_store_costs(
    storage: CheckpointStorage,
    monkeypatch: pytest.MonkeyPatch,
    states: bytes,
    store: dict[str, int],
    prune: dict[str, int],
) -> None:
    epoch = claim(storage)
    for number in range(3):
        with requests_beneath(storage, monkeypatch) as counted:
            storage.store_checkpoint(checkpoint(epoch, number, states))
        assert counted == store
    with requests_beneath(storage, monkeypatch) as counted:
        storage.store_checkpoint(checkpoint(epoch, 3, states))
    counted.subtract(store)
    assert +counted == prune


@pytest.mark.parametrize(
    ("verb", "by_its_writer", "by_another"),
    [
        (lambda storage: storage.scan(JOB, 1), {"list": 1}, {"list": 3, "read": 3}),
        (lambda storage: storage.scan_job(JOB), {"list": 1}, {"list": 4, "read": 3}),
        (lambda storage: storage.get_latest_checkpoint(JOB, 1), {"list": 1}, {"list": 6, "read": 6}),
        (lambda storage: storage.list_jobs(), {"list": 1}, {"list": 4, "read": 3}),
    ],
    ids=["scan", "scan_job", "latest", "list_jobs"],
)
def test_what_reading_costs(
    storage: CheckpointStorage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: Callable[[CheckpointStorage], object],
    by_its_writer: dict[str, int],
    by_another: dict[str, int],
) -> None:
    """One map of a snapshot and two segments. A process that has not written reads all of them each time."""
    storage.store_checkpoint(checkpoint(claim(storage), 1))
    with opened(tmp_path) as other:
        for each, cost in ((storage, by_its_writer), (other, by_another)):
            with requests_beneath(each, monkeypatch) as counted:
                verb(each)
            assert counted == cost
