"""A put into a map and the listing after it share one look at the markers: who comes between them loses nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from seatunnel_storage_mapstore.factory import MapStorageFactory
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.journal import Journal, Limits
from seatunnel_storage_mapstore.pipeline_map import PipelineMap
from seatunnel_storage_mapstore.storage import MapStorage

from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim

Open = Callable[[], CheckpointStorage]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    storages = []

    def open_() -> CheckpointStorage:
        storages.append(MapStorageFactory().create({"namespace": f"{tmp_path}/", "storage.type": "local"}))
        return storages[-1]

    yield open_
    for storage in storages:
        storage.close()


def refs(storage: CheckpointStorage) -> list[CheckpointRef]:
    return [info.ref for info in storage.scan(JOB, 1).checkpoints]


def test_who_claims_between_put_and_listing_finds_what_was_put(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = opened(), opened()
    epoch = claim(one)
    changed = PipelineMap.changed

    def claimed_first(pipeline_map: PipelineMap) -> object:
        monkeypatch.setattr(PipelineMap, "changed", changed)
        other.acquire_epoch(JOB, 1, epoch + 1)
        return changed(pipeline_map)

    monkeypatch.setattr(PipelineMap, "changed", claimed_first)
    one.store_checkpoint(checkpoint(epoch, 1))  # was durable before the claim, so it may be acknowledged
    assert refs(other) == refs(one) == [CheckpointRef(epoch, 1)]
    with pytest.raises(StaleEpochError):
        one.store_checkpoint(checkpoint(epoch, 2))


def test_a_listing_of_all_maps_shows_what_another_process_has_written_since(opened: Open) -> None:
    one, other = opened(), opened()
    epoch = claim(one)
    one.store_checkpoint(checkpoint(epoch, 1))
    newer = other.acquire_epoch(JOB, 1, epoch + 1)
    other.store_checkpoint(checkpoint(newer, 2))
    for storage in (one, other):
        assert [info.ref for info in storage.scan_job(JOB)[1].checkpoints][-1] == CheckpointRef(newer, 2)
        assert storage.newest_epoch(JOB, 1) == newer


def test_a_put_that_is_refused_leaves_no_look_behind(opened: Open) -> None:
    """The next listing of the same thread is a verb of its own, and looks for itself."""
    one, other = opened(), opened()
    epoch = claim(one)
    one.store_checkpoint(checkpoint(epoch, 1, b"one"))
    with pytest.raises(Exception, match="exists with different content"):
        one.store_checkpoint(checkpoint(epoch, 1, b"another"))
    newer = other.acquire_epoch(JOB, 1, epoch + 1)
    assert one.newest_epoch(JOB, 1) == newer


def test_a_put_outside_of_a_verb_leaves_no_look_behind(opened: Open) -> None:
    """As a backdoor makes one; the next listing came from memory, although another process had written since."""
    one, other = opened(), opened()
    epoch = claim(one)
    one.store_checkpoint(checkpoint(epoch, 1))
    assert isinstance(one, MapStorage)
    assert one.put_if_absent(f"{JOB}/000001/anything", b"")
    newer = other.acquire_epoch(JOB, 1, epoch + 1)
    assert one.newest_epoch(JOB, 1) == newer


class AnswersLate(MemoryStorage):
    """Puts a segment, loses the answer, and says on the second try that it is there; a newer writer came between."""

    def put_if_absent(self, key: str, body: bytes) -> bool:
        if not key.endswith(".segment"):
            return super().put_if_absent(key, body)
        Folder(self, "map/").claim()
        return False


def test_a_writer_whose_late_put_was_removed_by_a_newer_one_hears_of_that_one() -> None:
    """It was told that its log is damaged."""
    journal = Journal(Folder(AnswersLate(), "map/"), append=False, limits=Limits())
    with pytest.raises(StaleEpochError, match="epoch 2 was claimed"):
        journal.commit([("key", b"value")])
    journal.close()
