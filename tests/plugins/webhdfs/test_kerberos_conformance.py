"""The storage of type ``hdfs`` keeps every promise on an HDFS that asks for Kerberos tickets."""

import secrets
from collections.abc import Iterator

import hdfs
import pytest

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from tests.plugins.webhdfs.test_webhdfs_conformance import HdfsBackdoor
from tests.servers.hadoop import HADOOP_VERSION
from tests.servers.kerberos import SecureHdfs, secure_hdfs

pytestmark = [pytest.mark.servers, pytest.mark.twin, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureHdfs]:
    with secure_hdfs(tmp_path_factory.mktemp("kerberos")) as cluster:
        assert cluster.without_a_ticket("LISTSTATUS").status_code == 401
        yield cluster


class SuperuserBackdoor(HdfsBackdoor):
    """The same by tickets of the superuser."""

    def __init__(self, cluster: SecureHdfs, folder: str) -> None:
        super().__init__(f"http://{cluster.http}", folder)
        self._client = hdfs.Client(f"http://{cluster.http}", root=folder, session=cluster.as_superuser())


@pytest.mark.twin
class TestSecureHdfs(CheckpointStorageConformance):
    backend = "HDFS (Kerberos)"
    backend_version = f"Hadoop {HADOOP_VERSION}, hdfs {hdfs.__version__}"
    model_examples = 2

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("hdfs")

    @pytest.fixture
    def configuration(self, cluster: SecureHdfs) -> dict[str, str]:
        return cluster.configuration(f"/alice/{secrets.token_hex(8)}/")

    @pytest.fixture
    def backdoor(self, cluster: SecureHdfs, configuration: dict[str, str]) -> Backdoor:
        return SuperuserBackdoor(cluster, configuration["namespace"].rstrip("/"))
