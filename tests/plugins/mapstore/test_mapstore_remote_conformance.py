"""The storage of type ``map-store`` keeps on MinIO and on a real HDFS what it keeps on local files."""

import secrets
from collections.abc import Iterator

import boto3
import hdfs
import pytest
from seatunnel_storage_mapstore.factory import MapStorageFactory
from seatunnel_storage_mapstore.storage import MapStorage

from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor
from tests.plugins.mapstore.mapstore_backdoor import EntriesBackdoor
from tests.plugins.mapstore.mapstore_cost import CountedBeneath
from tests.servers.hadoop import HADOOP_VERSION, HdfsCluster
from tests.servers.objects.minio import MinIO

pytestmark = [pytest.mark.servers, pytest.mark.twin]


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    server = MinIO(tmp_path_factory.mktemp("minio"))
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


class OnServers(CountedBeneath):
    model_examples = 2

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return MapStorageFactory()

    @pytest.fixture
    def backdoor(self, factory: CheckpointStorageFactory, configuration: dict[str, str]) -> Iterator[Backdoor]:
        with factory.create(configuration) as storage:
            assert isinstance(storage, MapStorage)
            yield EntriesBackdoor(storage)


class TestMapStoreOnMinIO(OnServers):
    backend = "map-store (MinIO)"
    backend_version = f"MinIO of 2026-02-12, boto3 {boto3.__version__}"
    secrets = (MinIO.secret_key,)

    @pytest.fixture
    def configuration(self, minio: MinIO) -> dict[str, str]:
        bucket = minio.make_bucket(f"maps-{secrets.token_hex(6)}")
        return minio.configuration(bucket, namespace="/seatunnel/checkpoint/")


class TestMapStoreOnHdfs(OnServers):
    backend = "map-store (HDFS)"
    backend_version = f"Hadoop {HADOOP_VERSION}, hdfs {hdfs.__version__}"

    @pytest.fixture
    def configuration(self, cluster: HdfsCluster) -> dict[str, str]:
        return cluster.configuration(namespace=f"/maps/{secrets.token_hex(6)}/")
