"""What a storage holds, whatever state it is in."""

from pathlib import Path

import pytest

from seatunnel_core.errors import UsageError
from seatunnel_core.inspector import JobState, StorageReference, survey, survey_job
from seatunnel_core.inspector.reference import title
from seatunnel_core.inspector.survey import inventory_of
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage
from tests.inspector.made import JOB, Made


def test_a_job_with_its_names_epochs_and_the_line_of_live_checkpoints(made: Made) -> None:
    (job,) = survey(made.storage)
    assert (job.job_id, job.name, job.state, job.manifest_version) == (JOB, "nightly", JobState.OPEN, 2)
    pipeline = job.pipeline(1)
    assert pipeline.title == "flights1 -> out1"
    assert [str(info.ref) for info in pipeline.live] == ["100000-1", "100000-2", "200000-3", "200000-5", "200000-6"]
    assert pipeline.latest is not None
    assert pipeline.latest.ref == CheckpointRef(200_000, 6)
    assert pipeline.listing.newest_epoch == 200_000
    assert job.size_bytes == sum(holding.size_bytes for holding in made.storage.holdings())
    assert not job.all_problems


def test_an_empty_storage_has_no_job(storage: BlobStorage) -> None:
    assert survey(storage) == ()
    with pytest.raises(UsageError, match="no jobs"):
        survey_job(storage, JOB)


def test_a_job_that_was_deleted_is_no_job_any_more(made: Made) -> None:
    made.storage.delete_job(JOB)
    assert survey(made.storage) == ()
    (left,) = survey(made.storage, deleted=True)
    assert left.state is JobState.DELETED
    assert [holding.number for holding in left.holdings] == [200_001]


def test_the_state_of_a_cluster_is_no_job(storage: BlobStorage) -> None:
    """The folder ``cluster`` was shown as a job that was deleted."""
    storage.put_if_absent("cluster/seatunnel/engine_beats/0000000001-00000000000000000000.beat", b"{}")
    assert survey(storage, deleted=True) == ()
    with pytest.raises(UsageError, match="there is no job cluster in this storage"):
        survey_job(storage, "cluster")


def test_what_is_not_there_is_answered_with_what_is(made: Made) -> None:
    with pytest.raises(UsageError, match=r"there is no job other in this storage; it has job-1"):
        survey_job(made.storage, "other")
    job = survey_job(made.storage, JOB)
    with pytest.raises(UsageError, match="no pipeline 7; it has 1"):
        job.pipeline(7)
    with pytest.raises(UsageError, match="no checkpoint 100000-3; it has 100000-1, 100000-2"):
        job.pipeline(1).find(CheckpointRef(100_000, 3))


def test_a_pipeline_that_has_stored_nothing_is_shown_too(storage: BlobStorage, tmp_path: Path) -> None:
    Made(storage=storage, target=tmp_path / "out", pipelines=(1, 2)).begin()
    assert [each.latest for each in survey_job(storage, JOB).pipelines.values()] == [None, None]


@pytest.mark.parametrize(
    ("sealed", "state"), [(b"damaged", JobState.UNREADABLE), (None, JobState.NO_MANIFEST)], ids=["damaged", "gone"]
)
def test_without_its_manifest_a_job_is_shown_and_called_what_it_is(
    made: Made, sealed: bytes | None, state: JobState
) -> None:
    for path in Path(made.storage.namespace, JOB, "manifest").glob("*.manifest"):
        path.unlink() if sealed is None else path.write_bytes(sealed)
    (job,) = survey(made.storage)
    assert job.state is state
    assert bool(job.problems) == (sealed is not None)
    assert len(job.checkpoints) == 6


def test_a_file_that_should_not_be_there_is_named_and_hides_nothing(made: Made) -> None:
    stray = Path(made.storage.namespace, JOB, "000001", "copy-of-1.ckpt")
    stray.write_bytes(b"")
    (job,) = survey(made.storage)
    assert str(stray) in job.all_problems[0]
    assert len(job.checkpoints) == 6


def test_two_objects_for_one_checkpoint_are_a_problem(made: Made) -> None:
    folder = Path(made.storage.namespace, JOB, "000001")
    (original,) = folder.glob("0000100000-*2.checkpoint.base-none.ckpt")
    original.with_name(original.name.replace("checkpoint", "savepoint")).write_bytes(original.read_bytes())
    assert "two objects have the name of checkpoint 100000-2" in survey(made.storage)[0].all_problems[0]


def test_a_storage_that_does_not_show_what_lies_in_it_is_refused() -> None:
    class Opaque(CheckpointStorage):
        """Has the verbs, and nothing else."""

    Opaque.__abstractmethods__ = frozenset()
    with pytest.raises(UsageError, match="Opaque cannot list its objects"):
        inventory_of(Opaque())  # type: ignore[abstract]


# -- which storage is meant


def engine_file(folder: Path, namespace: Path) -> Path:
    path = folder / f"{namespace.name}.yaml"
    path.write_text(
        "seatunnel: {engine: {checkpoint: {storage: {type: hdfs, plugin-config: "
        f"{{storage.type: local, namespace: {namespace}/}}}}}}}}}}\n"
    )
    return path


@pytest.mark.parametrize("form", ["file", "named file", "folder", "type", "namespace"])
def test_a_storage_may_be_named_in_several_ways(made: Made, tmp_path: Path, form: str) -> None:
    namespace = Path(made.storage.namespace)
    places = {
        "file": StorageReference(storage=str(engine_file(tmp_path, namespace))),
        "named file": StorageReference(engine_file=engine_file(tmp_path, namespace)),
        "folder": StorageReference(storage=str(namespace)),
        "type": StorageReference(storage="hdfs", properties={"storage.type": "local", "namespace": f"{namespace}/"}),
        "namespace": StorageReference(engine_file=engine_file(tmp_path, tmp_path / "other"), namespace=f"{namespace}/"),
    }
    with places[form].open() as storage:
        assert title(storage) == f"{namespace}/ (hdfs on local files)"
        assert storage.list_jobs() == (JOB,)


def test_a_folder_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        StorageReference(storage=f"{tmp_path}/typo/").open()
    assert not (tmp_path / "typo").exists()


def test_the_configuration_of_a_place_is_not_shown() -> None:
    assert "hunter2" not in repr(StorageReference(storage="hdfs", properties={"fs.s3a.secret.key": "hunter2"}))
