"""Jobs move between storages whole: what can be resumed here can be resumed there, from the same bytes."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatunnel_core.errors import UsageError
from seatunnel_core.inspector import (
    ArchiveStorage,
    Copied,
    CopyError,
    StorageReference,
    copy_job,
    seems_to_run,
    survey,
    verify,
)
from seatunnel_core.inspector.survey import survey_job
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.inspector.made import JOB, Made, everything, local


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[BlobStorage]:
    with StorageReference(storage=f"{tmp_path}/copy/").open(to_write=True) as storage:
        assert isinstance(storage, BlobStorage)
        yield storage


def refs(storage: BlobStorage) -> list[str]:
    return [str(info.ref) for info in storage.list_checkpoints(JOB, 1)]


def same_for_a_restore(one: BlobStorage, other: BlobStorage) -> None:
    """Whatever an engine asks for when it goes on with the job."""
    assert one.get_manifest(JOB) == other.get_manifest(JOB)
    assert one.get_latest_checkpoints(JOB) == other.get_latest_checkpoints(JOB)
    for number, listing in one.scan_job(JOB).items():
        assert other.scan(JOB, number).highest_epoch == listing.highest_epoch
    (job,) = survey(other)
    assert verify(other, [job]).sound


def test_epochs_ids_bases_and_bytes_are_kept_and_void_ones_stay_behind(made: Made, destination: BlobStorage) -> None:
    said: list[str] = []
    done = copy_job(made.storage, destination, JOB, said.append)
    assert (done.checkpoints, done.attachments, done.was_there) == (5, 1, False)
    assert refs(destination) == ["100000-1", "100000-2", "200000-3", "200000-5", "200000-6"]
    for info in destination.list_checkpoints(JOB, 1):
        assert destination.load(info) == made.storage.get_checkpoint(JOB, 1, info.checkpoint_id, epoch=info.epoch)
    same_for_a_restore(made.storage, destination)
    assert said[-1] == "manifest"


def test_nothing_is_pruned_whatever_the_destination_retains(made: Made, tmp_path: Path) -> None:
    place = StorageReference(storage="hdfs", properties={"namespace": f"{tmp_path}/one/", "max-retained": "1"})
    with place.open(to_write=True) as storage:
        assert copy_job(made.storage, storage, JOB).checkpoints == 5
        assert len(storage.list_checkpoints(JOB, 1)) == 5


def test_savepoints_go_along(made: Made, destination: BlobStorage) -> None:
    made.store(200_000, 8, base=(100_000, 2), kind=CheckpointType.SAVEPOINT)
    copy_job(made.storage, destination, JOB)
    assert refs(destination)[-1] == "200000-8"


def test_a_claimed_epoch_without_a_checkpoint_is_claimed_there_too(made: Made, destination: BlobStorage) -> None:
    made.claim(300_000)
    copy_job(made.storage, destination, JOB)
    same_for_a_restore(made.storage, destination)


def test_copying_twice_changes_nothing(made: Made, destination: BlobStorage) -> None:
    copy_job(made.storage, destination, JOB)
    before = everything(Path(destination.namespace))
    assert copy_job(made.storage, destination, JOB).was_there
    assert everything(Path(destination.namespace)) == before


def test_an_interrupted_copy_is_no_job_and_goes_on(made: Made) -> None:
    """At each write in turn the destination breaks down; then the copy is made again."""
    writes = 0

    def interrupt(operation: str, key: str) -> None:
        nonlocal writes
        writes += operation == "put"
        if operation == "put" and writes > allowed:
            raise StorageUnavailableError("unplugged")

    allowed = -1
    while True:
        allowed += 1
        writes = 0
        blobs: dict[str, bytes] = {}
        broken = MemoryStorage(blobs, max_retained=999, before=interrupt)
        broken._backoff = broken._backoff.__class__(attempts=1)
        try:
            copy_job(made.storage, broken, JOB)
        except StorageUnavailableError:
            assert broken.get_manifest(JOB) is None
        else:
            break
        again = MemoryStorage(blobs, max_retained=999)
        copy_job(made.storage, again, JOB)
        same_for_a_restore(made.storage, again)
    assert allowed > 7


# -- what is refused


def refusal(made: Made, destination: BlobStorage, kind: type[Exception] = UsageError) -> str:
    before = everything(Path(destination.namespace))
    with pytest.raises(kind) as raised:
        copy_job(made.storage, destination, JOB)
    after = everything(Path(destination.namespace))
    assert before.items() <= after.items()
    return str(raised.value)


def test_another_job_of_the_same_id_is_not_overwritten(made: Made, destination: BlobStorage) -> None:
    destination.put_manifest(JOB, 1, b"{}")
    assert "exists in" in refusal(made, destination)
    assert "with different content" in refusal(made, destination)


def test_a_copy_that_went_on_is_not_overwritten(made: Made, destination: BlobStorage) -> None:
    copy_job(made.storage, destination, JOB)
    destination.acquire_epoch(JOB, 1, 300_000)
    assert "continued in" in refusal(made, destination)


def test_other_content_under_the_same_id_is_not_overwritten(made: Made, destination: BlobStorage) -> None:
    other = Made(storage=destination, target=made.target, attachments=made.attachments)
    other.claim(100_000)
    other.store(100_000, 1, other.states(emitted=9), kind=CheckpointType.RESTORE_POINT)
    assert "has different content" in refusal(made, destination)


def test_a_job_that_was_deleted_there_and_had_newer_epochs(made: Made, destination: BlobStorage) -> None:
    destination.acquire_epoch(JOB, 1, 900_000)
    assert "continued in" in refusal(made, destination)


def test_an_unknown_job(made: Made, destination: BlobStorage) -> None:
    with pytest.raises(UsageError, match="there is no job other"):
        copy_job(made.storage, destination, "other")


@pytest.mark.parametrize("how", ["latest", "manifest", "no manifest", "enumeration", "misnamed"])
def test_a_job_that_could_not_be_resumed_there_is_not_made_there(
    made: Made, destination: BlobStorage, how: str
) -> None:
    folder = Path(made.storage.namespace, JOB)
    breaks: dict[str, Callable[[], object]] = {
        "latest": lambda: made.damage(survey_job(made.storage, JOB).pipeline(1).find(CheckpointRef(200_000, 6))),
        "manifest": lambda: (folder / "manifest" / "0000000002.manifest").write_bytes(b"x"),
        "no manifest": lambda: [path.unlink() for path in (folder / "manifest").glob("*.manifest")],
        "enumeration": lambda: [path.unlink() for path in (folder / "attachments").glob("*.attachment")],
        "misnamed": lambda: (folder / "000001" / "x.ckpt").write_bytes(b""),
    }
    breaks[how]()
    assert "was not copied" in refusal(made, destination, CopyError)
    assert destination.get_manifest(JOB) is None


def test_a_damaged_older_one_is_left_behind_and_named(made: Made, destination: BlobStorage) -> None:
    path = made.damage(survey_job(made.storage, JOB).pipeline(1).find(CheckpointRef(200_000, 5)))
    done = copy_job(made.storage, destination, JOB)
    assert str(path) in done.left_behind[0]
    same_for_a_restore(made.storage, destination)


# -- a job that runs


def test_a_job_that_has_just_stored_something_is_warned_of(made: Made, destination: BlobStorage) -> None:
    job = survey_job(made.storage, JOB)
    assert "may be running" in seems_to_run(job)
    assert seems_to_run(job, now=(job.active_at or 0) + 601) == ""
    assert "may be running" in copy_job(made.storage, destination, JOB).warnings[0]
    made.end()
    assert seems_to_run(survey_job(made.storage, JOB)) == ""


def test_what_is_stored_during_the_copy_is_reported(made: Made, destination: BlobStorage) -> None:
    def go_on(done: str) -> None:
        if done.startswith("checkpoint 200000-6"):
            made.store(200_000, 9, base=(100_000, 2))

    done = copy_job(made.storage, destination, JOB, go_on)
    assert "stored 200000-9 after 200000-6 was copied" in done.warnings[-1]


def test_a_job_whose_latest_is_pruned_during_the_copy_is_not_made_there(made: Made, destination: BlobStorage) -> None:
    def prune(done: str) -> None:
        if done.startswith("checkpoint 200000-5"):
            made.store(200_000, 9, base=(100_000, 2))
            made.storage.delete_checkpoint(JOB, 1, 6)

    with pytest.raises(CopyError, match="it is running, and removed the checkpoint 200000-6"):
        copy_job(made.storage, destination, JOB, prune)
    assert destination.get_manifest(JOB) is None


def test_a_job_that_somebody_writes_at_the_destination_too(made: Made, destination: BlobStorage) -> None:
    def rival(done: str) -> None:
        if done.startswith("checkpoint 200000-3"):
            destination.acquire_epoch(JOB, 1, 900_000)

    with pytest.raises(UsageError, match="another process is writing"):
        copy_job(made.storage, destination, JOB, rival)
    assert destination.get_manifest(JOB) is None


def test_a_job_that_is_started_during_the_copy_is_not_made_there(made: Made, destination: BlobStorage) -> None:
    def start(done: str) -> None:
        if done.startswith("checkpoint 200000-6"):
            made.begin(3)

    with pytest.raises(CopyError, match="started or deleted during the copy"):
        copy_job(made.storage, destination, JOB, start)
    assert destination.get_manifest(JOB) is None


# -- archives


def export(made: Made, path: Path) -> Copied:
    with ArchiveStorage.create(path) as archive:
        done = copy_job(made.storage, archive, JOB)
        archive.publish()
    return done


def test_an_archive_is_a_storage_and_the_way_back_is_a_copy(
    made: Made, destination: BlobStorage, tmp_path: Path
) -> None:
    assert export(made, tmp_path / "job.zip").checkpoints == 5
    with ArchiveStorage.read_from(tmp_path / "job.zip") as archive:
        same_for_a_restore(made.storage, archive)
        copy_job(archive, destination, JOB)
    same_for_a_restore(made.storage, destination)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "job.zip", "state"]


def test_an_archive_can_be_opened_by_other_programs(made: Made, tmp_path: Path) -> None:
    export(made, tmp_path / "job.zip")
    with zipfile.ZipFile(tmp_path / "job.zip") as archive:
        assert archive.testzip() is None
        assert f"{JOB}/manifest/0000000002.manifest" in archive.namelist()


def test_one_that_was_not_published_leaves_nothing(made: Made, tmp_path: Path) -> None:
    with ArchiveStorage.create(tmp_path / "job.zip") as archive:
        copy_job(made.storage, archive, JOB)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_file_that_exists_is_not_overwritten(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    with ArchiveStorage.create(path) as archive:
        path.write_text("mine")
        with pytest.raises(UsageError, match="nothing is overwritten"):
            archive.publish()
    with pytest.raises(UsageError, match="exists already"):
        ArchiveStorage.create(path)
    assert path.read_text() == "mine"


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read as an archive"):
        ArchiveStorage.read_from(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(UsageError, match="cannot be read as an archive"):
        ArchiveStorage.read_from(tmp_path / "text.zip")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a/000001/x.ckpt", bytes(1_000_000))
    with pytest.raises(UsageError, match="compressed entries"):
        ArchiveStorage.read_from(tmp_path / "bomb.zip")
    with pytest.raises(UsageError, match="cannot be written"):
        ArchiveStorage.create(tmp_path / "no" / "folder.zip")


def test_a_published_archive_is_never_changed(made: Made, tmp_path: Path) -> None:
    export(made, tmp_path / "job.zip")
    with ArchiveStorage.read_from(tmp_path / "job.zip") as archive:
        with pytest.raises(StorageAccessError, match="copy the content of"):
            archive.acquire_epoch(JOB, 1, 1)
        with pytest.raises(StorageAccessError, match="copy the content of"):
            archive.delete_job(JOB)
        assert archive.read("nothing") is None


def test_a_damaged_archive_is_damage(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    export(made, path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as packed:
        entry = next(each for each in packed.infolist() if each.filename.endswith(".ckpt"))
    content[entry.header_offset + 300] ^= 1
    path.write_bytes(content)
    with ArchiveStorage.read_from(path) as archive:
        with pytest.raises(CheckpointCorruptedError, match="Export the checkpoints again"):
            archive.read(entry.filename)
        assert not verify(archive, survey(archive)).sound


def test_an_archive_takes_no_properties() -> None:
    with pytest.raises(UsageError, match="properties and a namespace are not supported"):
        StorageReference(storage="a.zip", namespace="/b/").open()


def test_between_two_kinds_of_storage(made: Made, tmp_path: Path) -> None:
    """The deprecated kind and ours differ in their plugin only; any two kinds will do."""
    other = MemoryStorage(max_retained=999)
    copy_job(made.storage, other, JOB)
    with local(tmp_path / "back", retained=999) as back:
        copy_job(other, back, JOB)
        same_for_a_restore(made.storage, back)
