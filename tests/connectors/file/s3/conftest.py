"""The servers on which ``S3File`` is tried."""

import uuid
from collections.abc import Iterator

import pytest

from tests.connectors.file.s3.s3_files import BUCKET, note_uploads
from tests.servers.objects.minio import MinIO
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw


@pytest.fixture(
    scope="module", params=[MinIO, pytest.param(Versitygw, marks=pytest.mark.twin)], ids=["minio", "versitygw"]
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with request.param(tmp_path_factory.mktemp("s3")) as server:
        server.make_bucket(BUCKET)
        note_uploads(server)
        yield server


@pytest.fixture
def folder() -> str:
    """A place of its own for each test."""
    return f"/{uuid.uuid4().hex}"
