"""The storage of type ``hdfs`` on OSS keeps every promise, on a stand-in that verifies signatures and on a real bucket.

The real one is named by ``OSS_ENDPOINT OSS_ACCESS_KEY_ID OSS_ACCESS_KEY_SECRET OSS_BUCKET``.
"""

import collections
import contextlib
import secrets
from collections.abc import Iterator

import oss2
import pytest
import requests
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.oss import OssStorage

from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from tests.servers.objects import oss

pytestmark = pytest.mark.servers


class BucketBackdoor(Backdoor):
    """Objects below a prefix of a bucket, by the vendor's client alone."""

    def __init__(self, configuration: dict[str, str]) -> None:
        auth = oss2.Auth(configuration["fs.oss.accessKeyId"], configuration["fs.oss.accessKeySecret"])
        self.bucket = oss2.Bucket(auth, configuration["fs.oss.endpoint"], configuration["oss.bucket"])
        self.prefix = configuration["namespace"][1:]

    def paths(self) -> list[str]:
        return [each.key for each in oss2.ObjectIteratorV2(self.bucket, prefix=self.prefix, max_keys=1000)]

    def read(self, path: str) -> bytes:
        body: bytes = self.bucket.get_object(path).read()
        return body

    def write(self, path: str, body: bytes) -> None:
        self.bucket.put_object(path, body)

    def delete(self, path: str) -> None:
        self.bucket.delete_object(path)


class OssConformance(CheckpointStorageConformance):
    backend_version = f"oss2 {oss2.__version__}"
    model_examples = 10

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return HdfsStorageFactory()

    @pytest.fixture
    def backdoor(self, configuration: dict[str, str]) -> Backdoor:
        return BucketBackdoor(configuration)

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        """Counts every answer that came over the wire: repeated requests and further pages would show."""
        assert isinstance(storage, OssStorage)
        counted: collections.Counter[str] = collections.Counter()

        def count(answer: requests.Response, **arguments: object) -> None:
            query = (answer.request.path_url or "").partition("?")[2]
            verb = {"PUT": "put", "POST": "delete"}.get(answer.request.method or "")
            counted[verb or ("list" if "list-type" in query else "read")] += 1

        hooks = storage._bucket.session.session.hooks["response"]
        hooks.append(count)
        yield counted
        hooks.remove(count)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[oss.OssStandIn]:
    server = oss.OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    yield server
    server.kill()


@pytest.mark.twin
class TestOssStandIn(OssConformance):
    backend = "OSS (stand-in)"
    secrets = (oss.SECRET,)

    @pytest.fixture
    def configuration(self, server: oss.OssStandIn) -> dict[str, str]:
        return server.configuration(f"/{secrets.token_hex(8)}/checkpoint/")


REAL = oss.real_bucket()
if REAL is None:

    def test_a_real_bucket() -> None:
        pytest.skip("OSS_ENDPOINT, OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and OSS_BUCKET name no bucket")

else:

    class TestRealOss(OssConformance):
        backend = "OSS"
        model_examples = 3
        secrets = (REAL["fs.oss.accessKeySecret"],)  # type: ignore[index]

        @pytest.fixture
        def configuration(self) -> Iterator[dict[str, str]]:
            configuration = {**REAL, "namespace": f"/seatunnel-tests/{secrets.token_hex(8)}/"}  # type: ignore[dict-item]
            yield configuration
            left = BucketBackdoor(configuration)
            for path in left.paths():
                left.delete(path)
