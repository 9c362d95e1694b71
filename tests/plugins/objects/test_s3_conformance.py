"""The storage of type ``hdfs`` on S3 keeps every promise: on MinIO, and a second time on versitygw."""

import collections
import contextlib
import secrets
from collections.abc import Iterator

import boto3
import pytest

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from tests.servers.objects import minio, versitygw
from tests.servers.objects.s3 import S3Server

pytestmark = pytest.mark.servers

VERBS = {"PutObject": "put", "GetObject": "read", "ListObjectsV2": "list", "DeleteObjects": "delete"}


@pytest.fixture(scope="module")
def on_minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    yield from started(minio.MinIO(tmp_path_factory.mktemp("minio")))


@pytest.fixture(scope="module")
def on_versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    yield from started(versitygw.Versitygw(tmp_path_factory.mktemp("versitygw")))


def started(server: S3Server) -> Iterator[S3Server]:
    server.start()
    try:
        yield server
    finally:
        server.kill()


class OnS3(CheckpointStorageConformance):
    """A bucket of its own for each test."""

    secrets = (S3Server.secret_key,)
    model_examples = 10

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("hdfs")

    @pytest.fixture
    def bucket(self, server: S3Server) -> str:
        return server.make_bucket(f"test-{secrets.token_hex(6)}")

    @pytest.fixture
    def configuration(self, server: S3Server, bucket: str) -> dict[str, str]:
        return server.configuration(bucket, namespace="/seatunnel/checkpoint/")

    @pytest.fixture
    def backdoor(self, server: S3Server, bucket: str) -> Backdoor:
        return server.backdoor(bucket, "/seatunnel/checkpoint/")

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        """What is about to go out on the wire, a retried request as often as it is sent."""
        counted: collections.Counter[str] = collections.Counter()

        def count(event_name: str, **_: object) -> None:
            operation = event_name.rpartition(".")[2]
            counted[VERBS.get(operation, operation)] += 1

        events = storage.client.meta.events  # type: ignore[attr-defined]
        events.register("before-send.s3", count)
        yield counted
        events.unregister("before-send.s3", count)


class TestOnMinIO(OnS3):
    backend = "S3 (MinIO)"
    backend_version = f"MinIO of 2026-02-12, boto3 {boto3.__version__}"

    @pytest.fixture
    def server(self, on_minio: S3Server) -> S3Server:
        return on_minio


@pytest.mark.twin
class TestOnVersitygw(OnS3):
    backend = "S3 (versitygw)"
    backend_version = f"versitygw {versitygw.VERSION}, boto3 {boto3.__version__}"

    @pytest.fixture
    def server(self, on_versitygw: S3Server) -> S3Server:
        return on_versitygw
