"""Make each mistake of ``s3`` in ``mistakes-storages.md`` on real servers, and compare the message.

Four cannot be had from these servers: an expired token (they hand out none that live shorter than 15 minutes), a region
that is wrong and not named, an overloaded server, and one that overwrites. Their answers are put in at the client.
"""

import datetime
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSResponse
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

import seatunnel_core.clients.s3.connection
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.testing.given import checkpoint, claim
from tests.plugins import page
from tests.servers.objects.aws import forget_credentials
from tests.servers.objects.minio import MinIO
from tests.servers.objects.versitygw import Versitygw
from tests.servers.process import deaf_port, unavailable

pytestmark = pytest.mark.servers

TABLE = page.mistakes("s3")
BUCKET = "mistakes"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    yield from started(MinIO(tmp_path_factory.mktemp("minio")))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    yield from started(MinIO(tmp_path_factory.mktemp("tls"), tls=True))


def started(server: Any) -> Iterator[Any]:
    server.start()
    try:
        server.make_bucket(BUCKET)
        yield server
    finally:
        server.kill()


@pytest.fixture(autouse=True)
def without_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_credentials(monkeypatch, tmp_path)


ANYWHERE = {
    "storage.type": "s3",
    "namespace": "/mistakes/",
    "s3.bucket": BUCKET,
    "fs.s3a.endpoint": "http://127.0.0.1:1",
    "fs.s3a.access.key": "id",
    "fs.s3a.secret.key": "secret-canary",
}
PROVIDER = "fs.s3a.aws.credentials.provider"
NO_KEYS = {"fs.s3a.access.key": "", "fs.s3a.secret.key": ""}
BEFORE_ANY_REQUEST: dict[str, Mapping[str, str]] = {
    "the endpoint is no address": {"fs.s3a.endpoint": "http://host:port/path"},
    "the bucket is missing": {"s3.bucket": ""},
    "the bucket holds a folder": {"s3.bucket": "s3a://checkpoints/seatunnel"},
    "the secret is missing": {"fs.s3a.secret.key": ""},
    "the provider is unknown": {PROVIDER: "com.example.MyProvider"},
    "the environment has no keys": {PROVIDER: "EnvironmentVariableCredentialsProvider"},
    "the providers have no keys": {
        PROVIDER: "com.amazonaws.auth.InstanceProfileCredentialsProvider, TemporaryAWSCredentialsProvider"
    },
    "the role is missing": {PROVIDER: "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"},
    "a Java keystore": {"hadoop.security.credential.provider.path": "jceks://hdfs@nn/keys.jceks"},
    "the authority's file is missing": {"fs.s3a.ssl.ca-file": "/no/such/file.pem"},
    "the namespace has no slash at its end": {"namespace": "/mistakes"},
    "the namespace is too long": {"namespace": f"/{'n' * 701}/"},
}
ON_A_SERVER: dict[str, Callable[[MinIO], Mapping[str, str]]] = {
    "nothing listens there": lambda server: {"fs.s3a.endpoint": f"127.0.0.1:{deaf_port()}"},
    "the host is not known": lambda server: {"fs.s3a.endpoint": "s3.invalid"},
    "the bucket does not exist": lambda server: {"s3.bucket": "nobodys-bucket"},
    "the access key is unknown": lambda server: {"fs.s3a.access.key": "nobody"},
    "the secret is wrong": lambda server: {"fs.s3a.secret.key": "wrong-canary"},
    "the session token is wrong": lambda server: {"fs.s3a.session.token": "wrong-canary"},
    "no right to list": lambda server: server.restricted(BUCKET, "s3:PutObject", "s3:GetObject", "s3:DeleteObject"),
    "no right to put: a read-only user": lambda server: server.restricted(BUCKET, "s3:ListBucket", "s3:GetObject"),
    "no right to read": lambda server: server.restricted(BUCKET, "s3:ListBucket", "s3:PutObject", "s3:DeleteObject"),
    "no right to delete": lambda server: server.restricted(BUCKET, "s3:ListBucket", "s3:PutObject", "s3:GetObject"),
    "the role may not be taken on": lambda server: {
        PROVIDER: "AssumedRoleCredentialProvider",
        "fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/seatunnel",
        "fs.s3a.assumed.role.sts.endpoint": server.endpoint,
        "fs.s3a.secret.key": "wrong-canary",
    },
    "https where the server speaks http": lambda server: {"fs.s3a.endpoint": f"127.0.0.1:{server.port}"},
    "the proxy is down": lambda server: {
        "fs.s3a.proxy.host": "127.0.0.1",
        "fs.s3a.proxy.port": str(deaf_port()),
        "fs.s3a.proxy.username": "user",
        "fs.s3a.proxy.password": "proxy-canary",
    },
}
ANSWERED: dict[str, tuple[int, str]] = {
    "the session token has expired": (400, "ExpiredToken"),
    "the region is wrong, and the server does not say which is right": (400, "AuthorizationHeaderMalformed"),
    "the server asks for fewer requests": (503, "SlowDown"),
}
ELSEWHERE = {
    "the clock is wrong",
    "the certificate is not trusted",
    "the server overwrites",
    "the server's disk is full",
    "a job id that would leave the namespace",
}


def said(mistake: str, configuration: Mapping[str, str]) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        HdfsStorageFactory().create(configuration)
    assert "canary" not in str(caught.value)
    page.require_told(TABLE.get(mistake, "nothing"), str(caught.value))


@pytest.mark.parametrize("mistake", BEFORE_ANY_REQUEST)
def test_a_mistake_in_the_configuration(mistake: str) -> None:
    said(mistake, {**ANYWHERE, **BEFORE_ANY_REQUEST[mistake]})


@pytest.mark.parametrize("mistake", ON_A_SERVER)
def test_a_mistake_that_the_server_finds(server: MinIO, mistake: str) -> None:
    configuration = server.configuration(BUCKET, namespace="/mistakes/")
    said(mistake, {**configuration, **ON_A_SERVER[mistake](server)})


@pytest.mark.parametrize("mistake", ANSWERED)
def test_an_answer_that_is_put_in(server: MinIO, monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    status, code = ANSWERED[mistake]
    body = f"<Error><Code>{code}</Code><Message>-</Message></Error>".encode()
    headers = {"Content-Length": str(len(body))}
    hook(monkeypatch, "before-send.s3", lambda request, **_: AWSResponse(request.url, status, headers, Raw(body)))
    said(mistake, server.configuration(BUCKET, namespace="/mistakes/"))


def test_a_server_that_overwrites(server: MinIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """The condition is taken out before the request is signed."""
    hook(monkeypatch, "provide-client-params.s3.PutObject", lambda params, **_: params.pop("IfNoneMatch") and None)
    said("the server overwrites", server.configuration(BUCKET, namespace="/mistakes/"))


def test_a_wrong_clock(server: MinIO, monkeypatch: pytest.MonkeyPatch) -> None:
    now, late = botocore.auth.get_current_datetime, datetime.timedelta(hours=1)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *given, **more: now(*given, **more) - late)
    said("the clock is wrong", server.configuration(BUCKET, namespace="/mistakes/"))


def test_a_certificate_that_is_not_trusted(encrypted: MinIO) -> None:
    said("the certificate is not trusted", encrypted.configuration(BUCKET, namespace="/mistakes/"))


def test_a_job_id_that_would_leave_the_namespace(server: MinIO) -> None:
    storage = HdfsStorageFactory().create(server.configuration(BUCKET, namespace="/mistakes/"))
    with storage, pytest.raises(CheckpointStorageError) as caught:
        storage.store_checkpoint(checkpoint(1, 1, job_id="../other"))
    page.require_told(TABLE["a job id that would leave the namespace"], str(caught.value))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        unavailable(f"a small disk cannot be mounted: {mounted.stderr}")
    yield folder / "server"
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    server = Versitygw(small_disk)
    for _ in started(server):
        with HdfsStorageFactory().create(server.configuration(BUCKET, namespace="/mistakes/")) as storage:
            epoch = claim(storage)
            with pytest.raises(CheckpointStorageError) as caught:
                storage.store_checkpoint(checkpoint(epoch, 1, bytes(16 * 2**20)))
    page.require_told(TABLE["the server's disk is full"], str(caught.value))


def test_every_mistake_of_the_page_is_made() -> None:
    assert {*BEFORE_ANY_REQUEST, *ON_A_SERVER, *ANSWERED, *ELSEWHERE} == TABLE.keys()


class Raw:
    """The body of an answer."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.body


def hook(monkeypatch: pytest.MonkeyPatch, event: str, handler: Callable[..., object]) -> None:
    """Lets a handler into every client of S3 that is made from now on."""
    real = seatunnel_core.clients.s3.connection.open_client  # type: ignore[attr-defined]

    def opened(*arguments: Any, **more: Any) -> Any:
        client = real(*arguments, **more)
        client.meta.events.register(event, handler)
        return client

    monkeypatch.setattr(seatunnel_core.clients.s3.connection, "open_client", opened)
