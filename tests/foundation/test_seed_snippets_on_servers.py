"""The storage blocks of SeaTunnel's pages reach a server, with the placeholders replaced and nothing else."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_storage_api.discovery import open_storage
from tests.servers.metadata import metadata_service
from tests.servers.objects.minio import MinIO
from tests.servers.objects.oss import BUCKET, KEY_ID, SECRET, OssStandIn

pytestmark = pytest.mark.servers

SEEDS = Path(__file__).parent / "seeds"
BOTH_PAGES = pytest.mark.parametrize("page", ["000", "001"])


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    server = MinIO(tmp_path_factory.mktemp("minio"))
    server.start()
    server.make_bucket("seeds")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def oss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OssStandIn]:
    """A stand-in: no server with OSS's signatures can be installed."""
    server = OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    yield server
    server.kill()


def works(name: str, replaced: Mapping[str, str], added: Mapping[str, str]) -> None:
    storage = load_engine(SEEDS / f"{name}.yaml", environment={}).storage
    assert replaced.keys() <= storage.plugin_config.keys()
    assert not added.keys() & storage.plugin_config.keys()
    with open_storage(storage.type, {**storage.plugin_config, **replaced, **added}) as opened:
        epoch = opened.acquire_epoch(f"job-{name.replace('/', '-')}", 1, minimum=1)
        assert opened.newest_epoch(f"job-{name.replace('/', '-')}", 1) == epoch


@BOTH_PAGES
def test_the_block_with_keys_of_s3(page: str, minio: MinIO) -> None:
    """The block names no endpoint, because Amazon's is the default; a server elsewhere has to be named."""
    reached = minio.configuration("seeds")
    keys = ("s3.bucket", "fs.s3a.access.key", "fs.s3a.secret.key")
    elsewhere = ("fs.s3a.endpoint", "fs.s3a.endpoint.region", "fs.s3a.path.style.access")
    works(f"{page}/s3", {key: reached[key] for key in keys}, {key: reached[key] for key in elsewhere})


@BOTH_PAGES
def test_the_block_with_the_profile_of_an_instance(page: str, minio: MinIO, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = minio.configuration("seeds")
    granted = minio.restricted("seeds", "s3:ListBucket", "s3:PutObject", "s3:GetObject", "s3:DeleteObject")
    replaced = {key: reached[key] for key in ("s3.bucket", "fs.s3a.endpoint")}
    elsewhere = {key: reached[key] for key in ("fs.s3a.endpoint.region", "fs.s3a.path.style.access")}
    handed = {
        "AccessKeyId": granted["fs.s3a.access.key"],
        "SecretAccessKey": granted["fs.s3a.secret.key"],
        "Token": granted["fs.s3a.session.token"],
        "Expiration": (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    with metadata_service(handed) as address:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", address)
        works(f"{page}/s3_instance_profile", replaced, elsewhere)


@BOTH_PAGES
def test_the_block_with_keys_of_oss(page: str, oss: OssStandIn) -> None:
    replaced = {
        "oss.bucket": BUCKET,
        "fs.oss.accessKeyId": KEY_ID,
        "fs.oss.accessKeySecret": SECRET,
        "fs.oss.endpoint": oss.endpoint,
    }
    works(f"{page}/oss", replaced, {})
