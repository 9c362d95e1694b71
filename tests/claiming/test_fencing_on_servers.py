"""An engine that falls asleep and wakes up as a zombie, with the job's checkpoints in S3 and in HDFS. `test_fencing.py`
does the same on local files."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api.blob import BlobStorage
from tests.claiming.zombie import Moment, a_job, moments, wakes_up_after_the_end, wakes_up_while_another_works
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO

pytestmark = [
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("commands"),
]

Configuration = dict[str, str]
_, ASLEEP, STORED, LOOKED, _ = moments("put")


@contextmanager
def s3(folder: Path) -> Iterator[Configuration]:
    with MinIO(folder) as server:
        yield server.configuration(server.make_bucket("zombies"))


@contextmanager
def hdfs(folder: Path) -> Iterator[Configuration]:
    with HdfsCluster(folder) as cluster:
        yield cluster.configuration("/")


@pytest.fixture(scope="module", params=[s3, hdfs], ids=["S3", "HDFS"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configuration]:
    run: Callable[[Path], AbstractContextManager[Configuration]] = request.param
    with run(tmp_path_factory.mktemp("server")) as configuration:
        yield configuration


@pytest.fixture
def storage(server: Configuration, tmp_path: Path) -> Configuration:
    return {**server, "namespace": f"/{tmp_path.name}/"}


def stored(configuration: Configuration) -> set[str]:
    """The keys of all that lies in the checkpoint storage."""
    with HdfsStorageFactory().create({**configuration, "read-only": "true"}) as storage:
        assert isinstance(storage, BlobStorage)
        return {blob.key for blob in storage.list_blobs("")}


@pytest.mark.parametrize(
    "moment", [pytest.param(ASLEEP, marks=pytest.mark.twin), STORED], ids=lambda moment: moment.name
)
def test_an_engine_that_wakes_up_while_another_works_ends_and_says_why(
    tmp_path: Path, storage: Configuration, moment: Moment
) -> None:
    wakes_up_while_another_works(a_job(tmp_path, storage=storage), moment, put="put")


@pytest.mark.twin
@pytest.mark.parametrize("moment", [STORED, LOOKED], ids=lambda moment: moment.name)
def test_an_engine_that_wakes_up_after_the_end_changes_nothing(
    tmp_path: Path, storage: Configuration, moment: Moment
) -> None:
    wakes_up_after_the_end(a_job(tmp_path, storage=storage), moment, lambda: stored(storage))
