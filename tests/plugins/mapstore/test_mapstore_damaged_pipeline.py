"""A flipped byte in the log of one pipeline's map: that pipeline says so, and no other is hidden."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from seatunnel_storage_mapstore import frames
from seatunnel_storage_mapstore.factory import MapStorageFactory
from seatunnel_storage_mapstore.storage import DAMAGED, MapStorage

from seatunnel_core.cli.main import main
from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageAccessError, UnsupportedFormatError
from seatunnel_storage_api.inventory import HoldingKind
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim, refs

Reading = Callable[[MapStorage], Any]


def opened(folder: Path) -> MapStorage:
    storage = MapStorageFactory().create({"namespace": f"{folder}/", "storage.type": "local"})
    assert isinstance(storage, MapStorage)
    return storage


def fill(folder: Path) -> None:
    """Two pipelines of a job, and another job, with three checkpoints each."""
    with opened(folder) as storage:
        for job_id, pipeline_id in ((JOB, 1), (JOB, 2), ("other", 1)):
            epoch = claim(storage, job_id=job_id, pipeline_id=pipeline_id)
            for number in (1, 2, 3):
                storage.store_checkpoint(checkpoint(epoch, number, job_id=job_id, pipeline_id=pipeline_id))


def pieces(folder: Path, ending: str) -> list[Path]:
    return sorted((folder / "map-store" / JOB / "000001" / "log").glob(f"*{ending}"))


@frozen
class Damage:
    storage: MapStorage
    path: Path
    """In which one byte was flipped."""

    intact: bytes


@pytest.fixture(
    params=[(".segment", 0, 5), (".segment", 1, 80), (".segment", -1, -3), (".snapshot", 0, 30)],
    ids=["header of the first group", "body of another", "end of the last", "snapshot"],
)
def damage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Damage]:
    ending, number, position = request.param
    fill(tmp_path)
    path = pieces(tmp_path, ending)[number]
    intact = path.read_bytes()
    body = bytearray(intact)
    body[position] ^= 1
    path.write_bytes(body)
    with opened(tmp_path) as storage:
        yield Damage(storage, path, intact)


READINGS: dict[str, Reading] = {
    "scan": lambda storage: storage.scan(JOB, 1),
    "scan_job": lambda storage: storage.scan_job(JOB),
    "latest": lambda storage: storage.get_latest_checkpoint(JOB, 1),
    "previous": lambda storage: storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous"),
    "latest of each": lambda storage: storage.get_latest_checkpoints(JOB),
    "all": lambda storage: storage.get_all_checkpoints(JOB),
    "store": lambda storage: storage.store_checkpoint(checkpoint(1, 4)),
    "acquire_epoch": lambda storage: storage.acquire_epoch(JOB, 1, 1),
    "delete_job": lambda storage: storage.delete_job(JOB),
    "verify": lambda storage: [storage.verify(holding) for holding in storage.holdings()],
}


@pytest.mark.parametrize("reading", READINGS)
def test_the_damaged_pipeline_names_the_file_and_loses_nothing(damage: Damage, reading: str, tmp_path: Path) -> None:
    """Also with ``previous``: what can still be read may be void by what cannot."""
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    with pytest.raises(CheckpointCorruptedError) as caught:
        READINGS[reading](damage.storage)
    assert str(damage.path) in str(caught.value)
    assert "Restore it from a backup. Without a backup, remove nothing" in str(caught.value)
    assert all(path.read_bytes() == body for path, body in before.items())
    damage.path.write_bytes(damage.intact)
    assert [each.checkpoint_id for each in damage.storage.list_checkpoints(JOB, 1)] == [1, 2, 3]


def test_other_pipelines_and_jobs_are_listed_read_and_written(damage: Damage) -> None:
    storage = damage.storage
    assert storage.list_jobs() == (JOB, "other")
    for job_id, pipeline_id in ((JOB, 2), ("other", 1)):
        owner: dict[str, Any] = {"job_id": job_id, "pipeline_id": pipeline_id}
        latest = storage.get_latest_checkpoint(**owner)
        assert latest == checkpoint(1, 3, **owner)
        assert refs(storage, **owner) == [(1, 1), (1, 2), (1, 3)]
        storage.store_checkpoint(checkpoint(claim(storage, **owner), 4, **owner))
    assert [len(listing.checkpoints) for listing in storage.scan_job("other").values()] == [3]
    storage.delete_job("other")
    assert storage.list_jobs() == (JOB,)


def test_whoever_looks_at_every_object_sees_all_others(damage: Damage) -> None:
    for holdings in (damage.storage.holdings(), damage.storage.holdings(JOB)):
        own = [each for each in holdings if (each.job_id, each.pipeline_id) == (JOB, 1)]
        assert [(each.kind, each.key) for each in own] == [(HoldingKind.MISNAMED, f"{JOB}/000001/{DAMAGED}")]
        kinds = [each.kind for each in holdings if (each.job_id, each.pipeline_id) == (JOB, 2)]
        assert sorted(kind.value for kind in kinds) == ["checkpoint"] * 3 + ["epoch"]


@pytest.mark.parametrize("verb", ["list", "verify"])
def test_whoever_looks_meets_the_file_that_is_damaged(
    damage: Damage, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was the name that stands in for the map's entries, which is no file, and the advice to move that one away."""
    place = ("--from", "map-store", "-p", f"namespace={tmp_path}/", "-p", "storage.type=local")
    assert main(["checkpoints", verb, *place]) == 1
    text = capsys.readouterr().out
    assert str(damage.path) in text
    assert "Restore it from a backup. Without a backup, remove nothing" in text
    assert DAMAGED not in text
    assert "away" not in text


def test_a_job_that_may_not_be_read_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path)
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if os.path.normpath(path) == str(tmp_path / "map-store" / JOB):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with opened(tmp_path) as storage:
        kinds = {(each.job_id, each.kind) for each in storage.holdings()}
        assert kinds == {
            (JOB, HoldingKind.UNREADABLE),
            ("other", HoldingKind.CHECKPOINT),
            ("other", HoldingKind.EPOCH),
        }
        with pytest.raises(StorageAccessError, match="Permission denied"):
            storage.holdings(JOB)


def test_a_map_that_a_newer_version_wrote_hides_no_other(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(frames, "FORMAT_VERSION", 2)
        with opened(tmp_path) as storage:
            claim(storage)
    with opened(tmp_path) as storage:
        storage.store_checkpoint(checkpoint(claim(storage, job_id="other"), 1, job_id="other"))
        assert storage.list_jobs() == (JOB, "other")
        for read in (lambda: storage.scan(JOB, 1), lambda: storage.scan_job(JOB)):
            with pytest.raises(UnsupportedFormatError, match="version 2"):
                read()
