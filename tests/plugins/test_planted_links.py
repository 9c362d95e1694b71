"""A storage in local files writes, reads and removes nothing through links that another user placed."""

from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_jdbc.factory import JdbcStorageFactory

from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.planted import plant_link

HDFS = HdfsStorageFactory()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder with a stored job, none of which may change."""
    folder = tmp_path / "elsewhere"
    with HDFS.create({"namespace": f"{folder}/"}) as storage:
        storage.put_manifest(JOB, 1, b"body")
        storage.store_checkpoint(checkpoint(claim(storage), 1))
    return folder


def content(folder: Path) -> dict[Path, bytes]:
    """Return all files below a folder."""
    return {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def test_a_planted_folder_of_a_job_is_not_used(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(elsewhere)
    with HDFS.create({"namespace": f"{tmp_path}/state/"}) as storage:
        plant_link(tmp_path / "state" / JOB, elsewhere / JOB, monkeypatch)
        for verb in (
            lambda: storage.put_manifest(JOB, 7, b"forged"),
            lambda: storage.store_attachment(JOB, b"new"),
            lambda: storage.get_manifest(JOB),
            lambda: storage.delete_job(JOB),
        ):
            with pytest.raises(StorageAccessError, match=f"belongs to another user.*{tmp_path}/state/{JOB}"):
                verb()
    assert content(elsewhere) == before


def test_a_planted_file_is_not_read_and_is_removed_itself(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(elsewhere)
    (manifest,) = (each for each in before if each.suffix == ".manifest")
    with HDFS.create({"namespace": f"{tmp_path}/state/"}) as storage:
        storage.store_attachment(JOB, b"own")
        folder = tmp_path / "state" / JOB / "manifest"
        folder.mkdir()
        plant_link(folder / manifest.name, manifest, monkeypatch)
        with pytest.raises(StorageAccessError, match="belongs to another user"):
            storage.get_manifest(JOB)
        storage.delete_job(JOB)
        assert not (folder / manifest.name).is_symlink()
    assert content(elsewhere) == before


def test_a_planted_namespace_is_not_used(tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    plant_link(shared / "state", elsewhere, monkeypatch)
    plant_link(shared / "state.db", elsewhere / "made.db", monkeypatch)
    before = content(elsewhere)
    for namespace in ("state", "state/below"):
        with pytest.raises(StorageAccessError, match="belongs to another user"):
            HDFS.create({"namespace": f"{shared}/{namespace}/"})
    with pytest.raises(StorageAccessError, match="belongs to another user"):
        JdbcStorageFactory().create({"url": f"jdbc:sqlite:{shared}/state.db"})
    assert content(elsewhere) == before


def test_the_operators_own_links_are_followed(tmp_path: Path, elsewhere: Path) -> None:
    """A namespace on another disk, and a job that was moved to one."""
    (tmp_path / "linked").symlink_to(elsewhere)
    with HDFS.create({"namespace": f"{tmp_path}/linked/"}) as storage:
        assert storage.get_manifest(JOB) is not None
