"""A job travels from local files over S3 and a map to a file and back, and is looked after on the way."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.inspector import StorageReference, find_garbage, remove, survey, survey_job, verify
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.state import CheckpointRef
from tests.inspector.made import JOB, Made
from tests.servers.objects import minio
from tests.servers.objects.s3 import S3Server

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = minio.MinIO(tmp_path_factory.mktemp("minio"))
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def on_s3(server: S3Server, tmp_path: Path) -> Path:
    """An engine file that names a new bucket, and its secret in the environment."""
    bucket = server.make_bucket(f"inspected-{os.urandom(4).hex()}")
    configuration = server.configuration(bucket, namespace="/checkpoints/")
    keys = "\n".join(f'          "{key}": "{value}"' for key, value in configuration.items())
    path = tmp_path / "s3.yaml"
    path.write_text(
        "seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        type: hdfs\n        plugin-config:\n" + keys
    )
    return path


def latest(place: str) -> object:
    with StorageReference(storage=place).open() as storage:
        assert verify(storage, survey(storage)).sound
        return storage.get_latest_checkpoints(JOB), storage.get_manifest(JOB)


def test_there_and_back_again(made: Made, on_s3: Path, tmp_path: Path) -> None:
    places = [made.storage.namespace, str(on_s3), f"{tmp_path}/way.zip", f"{tmp_path}/back/"]
    here = latest(places[0])
    assert main(["checkpoints", "copy", "--from", places[0], "--to", places[1]]) == 0
    assert main(["checkpoints", "export", places[2], "--from", places[1]]) == 0
    assert main(["checkpoints", "copy", "--from", places[2], "--to", places[3]]) == 0
    assert [latest(place) for place in places] == [here] * 4


def test_by_way_of_a_map(made: Made, tmp_path: Path) -> None:
    properties = {"namespace": f"{tmp_path}/map/", "storage.type": "local"}
    arguments = [word for key, value in properties.items() for word in ("-P", f"{key}={value}")]
    here = latest(made.storage.namespace)
    assert main(["checkpoints", "copy", "--from", made.storage.namespace, "--to", "map-store", *arguments]) == 0
    back = [word.replace("-P", "-p") for word in arguments]
    assert main(["checkpoints", "copy", "--from", "map-store", *back, "--to", f"{tmp_path}/back/"]) == 0
    assert latest(f"{tmp_path}/back/") == here


def test_a_bucket_is_looked_after(made: Made, on_s3: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A void checkpoint goes, a damaged object is found, and where one is nothing goes any more."""
    main(["checkpoints", "copy", "--from", made.storage.namespace, "--to", str(on_s3)])
    with StorageReference(storage=str(on_s3), properties={"max-retained": "99"}).open(to_remove=True) as storage:
        assert isinstance(storage, BlobStorage)
        on_bucket = Made(storage=storage, target=made.target, attachments=made.attachments)
        on_bucket.store(200_000, 7, base=(100_000, 2))
        on_bucket.claim(300_000)
        on_bucket.store(300_000, 8, base=(200_000, 6))
        found = find_garbage(storage, survey(storage), older_than_s=0)
        assert [each.what for each in found.garbage] == ["void checkpoint"]
        assert remove(storage, found.garbage) == ()
        (victim,) = [each for each in storage.holdings(JOB) if each.checkpoint and each.checkpoint.checkpoint_id == 8]
        sealed = storage.read(victim.key)
        assert sealed is not None
        storage.delete([victim.key])
        assert storage.put_if_absent(victim.key, sealed[:-1])
    capsys.readouterr()
    assert main(["checkpoints", "verify", "--from", str(on_s3)]) == 1
    assert "The newest usable checkpoint is 200000-6" in capsys.readouterr().out
    assert main(["checkpoints", "gc", "--from", str(on_s3), "--older-than", "0"]) == 1
    assert "no data of job job-1 is removed" in capsys.readouterr().out
    with StorageReference(storage=str(on_s3)).open() as storage:
        assert survey_job(storage, JOB).pipeline(1).latest is not None
        assert not storage.get_checkpoint(JOB, 1, 7), CheckpointRef(200_000, 7)


def test_keys_that_may_only_read_are_enough_to_look(
    made: Made, server: S3Server, on_s3: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["checkpoints", "copy", "--from", made.storage.namespace, "--to", str(on_s3)]) == 0
    (bucket,) = re.findall(r'"s3.bucket": "(.*)"', on_s3.read_text())
    assert isinstance(server, minio.MinIO)
    restricted = server.restricted(bucket, "s3:ListBucket", "s3:GetObject")
    keys = [word for key, value in restricted.items() for word in ("-p", f"{key}={value}")]
    assert main(["checkpoints", "verify", "--from", str(on_s3), *keys]) == 0
    assert "resumes from 200000-6" in capsys.readouterr().out
    assert main(["checkpoints", "gc", "--from", str(on_s3), *keys]) == 1
