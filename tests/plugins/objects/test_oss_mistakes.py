"""Make each mistake of ``oss`` in ``mistakes-storages.md`` with a mock server, and compare the message."""

import contextlib
from collections.abc import Callable, Iterator, Mapping

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.testing.given import checkpoint
from tests.plugins import page
from tests.servers.objects import oss
from tests.servers.process import deaf_port

TABLE = page.mistakes("oss")
GOOD: dict[str, object] = {
    "credentials": {
        oss.KEY_ID: {"secret": oss.SECRET},
        "expired": {"secret": oss.SECRET, "token": "token-canary", "expired": True},
    },
    "versioned": [],
    "denied": {},
    "faults": [],
    "clock_ahead_s": 0.0,
    "role": {},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[oss.OssStandIn]:
    server = oss.OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    yield server
    server.kill()


def _written(more: Mapping[str, str]) -> Callable[[oss.OssStandIn], None]:
    """The mistake is in the configuration."""
    return lambda server: _open(server, more)


def _set(**settings: object) -> Callable[[oss.OssStandIn], None]:
    """The mistake is on the server's side."""

    def make(server: oss.OssStandIn) -> None:
        server.set(**settings)
        _open(server, {})

    return make


def _denied(action: str) -> Callable[[oss.OssStandIn], None]:
    return _set(denied={oss.KEY_ID: [action]})


def _open(server: oss.OssStandIn, more: Mapping[str, str]) -> None:
    HdfsStorageFactory().create({**server.configuration("/mistakes/"), **more}).close()


def _hostile_job(server: oss.OssStandIn) -> None:
    with HdfsStorageFactory().create(server.configuration("/mistakes/")) as storage:
        storage.store_checkpoint(checkpoint(1, 1, job_id="../other"))


PROVIDER = "fs.oss.credentials.provider"
TOKEN = "fs.oss.securityToken"
MISTAKES: dict[str, Callable[[oss.OssStandIn], None]] = {
    "nothing listens there": _written({"fs.oss.endpoint": f"http://127.0.0.1:{deaf_port()}"}),
    "the host is not known": _written({"fs.oss.endpoint": "http://oss.invalid"}),
    "the endpoint is missing": _written({"fs.oss.endpoint": "", "fs.oss.region": ""}),
    "the endpoint is no host": _written({"fs.oss.endpoint": "endpoint address"}),
    "the endpoint holds the bucket": _written({"fs.oss.endpoint": "checkpoints.oss-cn-hangzhou.aliyuncs.com"}),
    "the bucket is missing": _written({"oss.bucket": ""}),
    "the bucket holds a folder": _written({"oss.bucket": "oss://checkpoints/seatunnel"}),
    "the bucket does not exist": _written({"oss.bucket": "nobodys-bucket"}),
    "the bucket has versioning": _set(versioned=[oss.BUCKET]),
    "the keys are missing": _written({"fs.oss.accessKeyId": ""}),
    "the access key id is unknown": _written({"fs.oss.accessKeyId": "nobody"}),
    "the secret is wrong": _written({"fs.oss.accessKeySecret": "wrong-canary"}),
    "the security token is missing": _written({PROVIDER: "TemporaryAliyunCredentialsProvider"}),
    "the security token has expired": _written({"fs.oss.accessKeyId": "expired", TOKEN: "token-canary"}),
    "the region is wrong": _written({"fs.oss.region": "cn-elsewhere"}),
    "the provider is unknown": _written({PROVIDER: "com.example.MyProvider"}),
    "a timeout is no number": _written({"fs.oss.connection.timeout": "10s"}),
    "the environment has no keys": _written({PROVIDER: "EnvironmentVariableCredentialsProvider"}),
    "the instance has no role": lambda server: _open(
        server, {PROVIDER: "InstanceProfileCredentialsProvider", "fs.oss.ecs.metadata": server.metadata + "none"}
    ),
    "a Java key store": _written({"hadoop.security.credential.provider.path": "jceks://file/keys.jceks"}),
    "the clock is wrong": _set(clock_ahead_s=3600),
    "no right to put": _denied("PutObject"),
    "no right to read": _denied("GetObject"),
    "no right to list": _denied("ListObjects"),
    "no right to delete": _denied("DeleteObject"),
    "the server is overloaded": _set(faults=[503] * 4),
    "the namespace has no slash at its end": _written({"namespace": "/mistakes"}),
    "a job id that would leave the namespace": _hostile_job,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_as_the_page_says(
    server: oss.OssStandIn, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    for name in ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    server.set(**GOOD)
    with contextlib.ExitStack() as after:
        after.callback(server.set, **GOOD)
        with pytest.raises(CheckpointStorageError) as caught:
            MISTAKES[mistake](server)
    assert "canary" not in str(caught.value)
    page.require_told(TABLE.get(mistake, "nothing"), str(caught.value))


def test_every_mistake_of_the_page_is_made() -> None:
    assert MISTAKES.keys() == TABLE.keys()
