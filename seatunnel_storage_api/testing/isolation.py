"""Promises 6 and 9: objects stay in their namespace, and jobs, pipelines and namespaces are isolated."""

from collections.abc import Callable

import pytest

from seatunnel_storage_api.errors import InvalidIdError, NamespaceError
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing.backdoor import Backdoor
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, checkpoint, claim, refs

_BAD_JOBS = ["", ".", "..", "a/b", "../job", "/etc", "a\\b", "a b", "a\0", "a\n", "ä", "工作", "x" * 129]
_GOOD_JOBS = ["1", "11", "a", "a-b", "a.b", "a_b", "...", ".tmp", "manifest", "000001", "A", "x" * 128, "x" * 127]


class Isolation(StorageFixtures):
    """Promises 6 and 9, with IDs and namespaces chosen to collide."""

    @pytest.mark.parametrize("cut", ["no slash at the end", "relative", "parent", "double"])
    def test_p06_a_namespace_is_an_absolute_folder(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str], cut: str
    ) -> None:
        namespace = configuration["namespace"]
        bad = {
            "no slash at the end": namespace.rstrip("/") + "x",
            "relative": namespace.lstrip("/") + "x/",
            "parent": namespace + "../x/",
            "double": namespace + "/x/",
        }[cut]
        with pytest.raises(NamespaceError) as caught:
            factory.create({**configuration, "namespace": bad})
        assert bad in str(caught.value)

    @pytest.mark.parametrize("job_id", _BAD_JOBS)
    def test_p06_no_job_id_leads_out(self, storage: CheckpointStorage, backdoor: Backdoor, job_id: str) -> None:
        verbs: list[Callable[[], object]] = [
            lambda: storage.store_checkpoint(checkpoint(1, 1, job_id=job_id)),
            lambda: storage.get_checkpoint(job_id, 1, 1),
            lambda: storage.get_latest_checkpoint(job_id, 1),
            lambda: storage.get_latest_checkpoints(job_id),
            lambda: storage.get_all_checkpoints(job_id),
            lambda: storage.list_checkpoints(job_id, 1),
            lambda: storage.scan(job_id, 1),
            lambda: storage.scan_job(job_id),
            lambda: storage.delete_checkpoint(job_id, 1, 1),
            lambda: storage.delete_checkpoints(job_id, 1, [CheckpointRef(1, 1)]),
            lambda: storage.delete_job(job_id),
            lambda: storage.acquire_epoch(job_id, 1, 1),
            lambda: storage.newest_epoch(job_id, 1),
            lambda: storage.put_manifest(job_id, 1, b""),
            lambda: storage.get_manifest(job_id),
            lambda: storage.store_attachment(job_id, b""),
            lambda: storage.get_attachment(job_id, "0" * 64),
        ]
        for verb in verbs:
            with pytest.raises(InvalidIdError):
                verb()
        assert backdoor.paths() == []

    @pytest.mark.parametrize(
        ("epoch", "number", "pipeline"),
        [(0, 1, 1), (-1, 1, 1), (10**10, 1, 1), (1, -1, 1), (1, 10**20, 1), (1, 1, 0), (1, 1, -1), (1, 1, 10**6)],
    )
    def test_p06_numbers_that_a_name_cannot_hold(
        self, storage: CheckpointStorage, epoch: int, number: int, pipeline: int
    ) -> None:
        with pytest.raises(InvalidIdError):
            storage.store_checkpoint(checkpoint(epoch, number, pipeline_id=pipeline))

    @pytest.mark.parametrize("digest", ["", "../../x", "0" * 63, "G" * 64, "A" * 64])
    def test_p06_an_attachment_is_named_by_a_digest(self, storage: CheckpointStorage, digest: str) -> None:
        with pytest.raises(InvalidIdError):
            storage.get_attachment(JOB, digest)

    def test_p09_jobs_and_pipelines_never_meet(self, storage: CheckpointStorage) -> None:
        where = [(job, pipeline) for job in _GOOD_JOBS for pipeline in (1, 11)]
        for job, pipeline in where:
            states = f"{job}/{pipeline}".encode()
            epoch = claim(storage, job_id=job, pipeline_id=pipeline)
            assert epoch == 1
            storage.store_checkpoint(checkpoint(epoch, 1, states, job_id=job, pipeline_id=pipeline))
            storage.put_manifest(job, pipeline, states)
        assert storage.list_jobs() == tuple(sorted(_GOOD_JOBS))
        for job in _GOOD_JOBS:
            assert [s.states.decode() for s in storage.get_all_checkpoints(job)] == [f"{job}/1", f"{job}/11"]
            assert storage.scan_job(job) == {pipeline: storage.scan(job, pipeline) for pipeline in (1, 11)}
            manifest = storage.get_manifest(job)
            assert manifest is not None
            assert manifest.body == f"{job}/11".encode()
        storage.delete_job("a")
        storage.delete_job("1")
        assert storage.list_jobs() == tuple(sorted({*_GOOD_JOBS} - {"a", "1"}))

    def test_p09_the_largest_numbers(self, storage: CheckpointStorage) -> None:
        job, pipeline, epoch = "x" * 128, 999_999, 10**10 - 1
        assert storage.acquire_epoch(job, pipeline, epoch) == epoch
        base = CheckpointRef(epoch - 1, 10**20 - 1)
        largest = checkpoint(epoch, 10**20 - 1, job_id=job, pipeline_id=pipeline, base=base)
        storage.store_checkpoint(largest)
        assert storage.get_latest_checkpoint(job, pipeline) == largest
        with pytest.raises(InvalidIdError):
            storage.acquire_epoch(job, pipeline, 1)

    def test_p09_a_namespace_below_another_one(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        above, below = open_storage(), open_storage(below="000001/")
        for storage in (above, below):
            storage.store_checkpoint(checkpoint(claim(storage), 1, storage.__class__.__name__.encode()))
            storage.put_manifest(JOB, 1, b"")
        assert above.list_jobs() == below.list_jobs() == (JOB,)
        above.delete_job("000001")
        assert refs(below) == [(1, 1)]
        below.delete_job(JOB)
        assert refs(above) == [(1, 1)]

    def test_p09_foreign_files_are_left_alone(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        foreign = backdoor.only(".ckpt") + ".bak"
        backdoor.write(foreign, b"mine")
        assert refs(storage) == [(1, 1)]
        storage.delete_job(JOB)
        assert backdoor.read(foreign) == b"mine"

    def test_p09_namespaces_side_by_side(self, open_storage: Callable[..., CheckpointStorage]) -> None:
        """Check two namespaces when the name of one is a prefix of the name of the other."""
        one, other = open_storage(below="1/"), open_storage(below="11/")
        other.store_checkpoint(checkpoint(claim(other), 1, b"theirs"))
        digest = other.store_attachment(JOB, b"theirs")
        assert one.list_jobs() == ()
        assert one.newest_epoch(JOB, 1) is None
        one.delete_job(JOB)
        assert [state.states for state in other.get_all_checkpoints(JOB)] == [b"theirs"]
        assert other.get_attachment(JOB, digest) == b"theirs"
