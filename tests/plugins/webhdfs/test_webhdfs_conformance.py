"""The storage of type ``hdfs`` keeps every promise on a real HDFS."""

import secrets
from collections.abc import Iterator

import hdfs
import pytest

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from tests.servers.hadoop import HADOOP_VERSION, HdfsCluster

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


class HdfsBackdoor(Backdoor):
    """Everything below a folder of HDFS, by the public client."""

    def __init__(self, url: str, folder: str) -> None:
        self._client = hdfs.InsecureClient(url, root=folder)
        self._folder = folder

    def paths(self) -> list[str]:
        walk = self._client.walk(self._folder, ignore_missing=True)
        return sorted(
            f"{folder}/{name}".removeprefix(f"{self._folder}/") for folder, _, names in walk for name in names
        )

    def read(self, path: str) -> bytes:
        with self._client.read(path) as reader:
            body: bytes = reader.read()
            return body

    def write(self, path: str, body: bytes) -> None:
        self._client.write(path, data=body, overwrite=True)

    def delete(self, path: str) -> None:
        self._client.delete(path)


class TestHdfs(CheckpointStorageConformance):
    backend = "HDFS"
    backend_version = f"Hadoop {HADOOP_VERSION}, hdfs {hdfs.__version__}"
    model_examples = 4

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("hdfs")

    @pytest.fixture
    def configuration(self, cluster: HdfsCluster) -> dict[str, str]:
        return cluster.configuration(f"/{secrets.token_hex(8)}/")

    @pytest.fixture
    def backdoor(self, cluster: HdfsCluster, configuration: dict[str, str]) -> Backdoor:
        return HdfsBackdoor(f"http://{cluster.http}", configuration["namespace"].rstrip("/"))
