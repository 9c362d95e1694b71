"""``S3File`` against MinIO and versitygw: the kit's suites, formats, watched folders, and mistakes that are named."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, commit, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.s3 import S3FileSink, S3FileSource
from seatunnel_core.errors import SinkError, SourceChangedError, SourceError
from tests.connectors.file.s3.s3_files import (
    BUCKET,
    ROWS,
    access,
    keys,
    parquet,
    sink,
    source,
    uploads_left,
)
from tests.connectors.file.sink_suite import FileSinkSuite
from tests.servers.forward_proxy import forward_proxy
from tests.servers.objects.aws import forget_credentials
from tests.servers.objects.minio import MinIO
from tests.servers.objects.s3 import S3Server
from tests.servers.process import deaf_port

pytestmark = [pytest.mark.servers, pytest.mark.timeout(400), pytest.mark.xdist_group("s3-files")]


class TestSource(SourceConformance):
    source_class = S3FileSource

    @pytest.fixture(autouse=True)
    def files(self, server: S3Server, folder: str) -> None:
        client = server.client()
        for name, rows in (("a", ROWS[:200]), ("deep/b", ROWS[200:]), ("_ignored", ROWS)):
            client.put_object(Bucket=BUCKET, Key=f"{folder[1:]}/{name}", Body=parquet(rows))
        self.given = {**access(server), "path": folder, "file_format_type": "parquet", "split_size": 500}

    def options(self) -> Mapping[str, Any]:
        return self.given

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestSink(FileSinkSuite):
    sink_class = S3FileSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: S3Server, folder: str) -> None:
        self.given = {**access(server), "path": folder, "file_format_type": "json"}
        self.server, self.folder = server, folder

    def files(self) -> Mapping[str, bytes]:
        client = self.server.client()
        found = keys(self.server, self.folder)
        return {key: client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in found}

    def lose(self) -> bool:
        client = self.server.client()
        for each in client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.folder[1:]}/")["Contents"]:
            client.delete_object(Bucket=BUCKET, Key=each["Key"])
        return True

    def staged(self) -> int:
        return super().staged() + uploads_left(self.server, self.folder)


@pytest.mark.parametrize("format", ["csv", "parquet", "orc", "excel", "xml"])
def test_formats_come_back_as_they_went(server: S3Server, folder: str, format: str) -> None:
    """An empty csv file too, which has no byte to upload."""
    made = sink(server, folder, file_format_type=format, xml_row_tag="r", create_empty_file_when_no_data=True)
    made.prepare(sink_place(place()))
    staged = [stage(made, SCHEMA, batches, place(unit=unit)) for unit, batches in ((1, [numbered(0, 5)]), (2, []))]
    commit(made, staged, place())
    declared = {"schema": {"fields": {"id": "bigint", "name": "string"}}, "xml_row_tag": "r"}
    header = {"skip_header_row_number": 1} if format == "excel" else {}
    more = {} if format in ("parquet", "orc") else {**declared, **header}
    assert sorted(row["id"] for row in read(source(server, folder, file_format_type=format, **more))) == list(range(5))
    assert len([key for key in keys(server, folder) if "/.seatunnel/" not in key]) == 2


def test_binary_files_keep_their_names(server: S3Server, folder: str) -> None:
    """Their keys are not ours alone: a sweep ends no upload of anybody else."""
    client = server.client()
    for name in ("a.bin", "deep/b.bin"):
        client.put_object(Bucket=BUCKET, Key=f"{folder[1:]}/in/{name}", Body=name.encode() * 1000)
    theirs = client.create_multipart_upload(Bucket=BUCKET, Key=f"{folder[1:]}/out/a.bin")["UploadId"]
    read_from = source(server, f"{folder}/in", file_format_type="binary", binary_chunk_size=700)
    made = sink(server, f"{folder}/out", file_format_type="binary")
    made.prepare(sink_place(place()))
    found = plan(read_from)
    batches = [pa.RecordBatch.from_pylist(read(read_from, found), schema=found.schemas[0].columns)]
    dropped = stage(made, found.schemas[0], batches, place(unit=2))
    committable = stage(made, found.schemas[0], batches, place())
    assert dropped.id != committable.id
    made.sweep(sink_place(place(epoch=2)), frozenset({committable.id}), final=False)
    made.prepare(sink_place(place(epoch=2)))
    commit(made, [committable], place(epoch=2), may_be_committed=True)
    assert client.get_object(Bucket=BUCKET, Key=f"{folder[1:]}/out/deep/b.bin")["Body"].read() == b"deep/b.bin" * 1000
    left = client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{folder[1:]}/out/a.bin").get("Uploads", ())
    assert [each["UploadId"] for each in left] == [theirs]
    client.abort_multipart_upload(Bucket=BUCKET, Key=f"{folder[1:]}/out/a.bin", UploadId=theirs)


# -- reading -----------------------------------------------------------------------------------------------------------


def test_an_object_that_changed_is_refused(server: S3Server, folder: str) -> None:
    """Also one of the same size, whatever its time says, and in the midst of reading."""
    client, key = server.client(), f"{folder[1:]}/a.csv"
    client.put_object(Bucket=BUCKET, Key=key, Body=b"1\n2\n")
    made = source(server, folder, file_format_type="csv", schema={"fields": {"id": "bigint"}})
    found = plan(made)
    (version,) = made._listing.files()
    with made._files.open(version) as file:
        client.put_object(Bucket=BUCKET, Key=key, Body=b"1\n3\n")
        with pytest.raises(SourceChangedError, match=r"a\.csv changed after it was listed: it was rewritten"):
            file.read_range(0, 4)
    with pytest.raises(SourceChangedError, match=r"it was modified \(4 bytes when listed, 4 now\)"):
        read(made, found)
    client.delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(SourceChangedError, match="it no longer exists"):
        read(made, found)


def test_a_watched_folder_finds_new_objects(server: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client()
    given = {"file_format_type": "csv", "schema": {"fields": {"id": "bigint"}}, "discovery_mode": "continuous"}
    made = source(server, folder, **given)
    now_ns = time.time_ns()
    memory: Mapping[str, Any] = {}
    taken = []
    for look in range(3):
        client.put_object(Bucket=BUCKET, Key=f"{folder[1:]}/a.csv", Body=b"1\n") if not look else None
        monkeypatch.setattr(
            "seatunnel_core.connectors.file.source.time.time_ns", lambda look=look: now_ns + look * 20_000_000_000
        )
        polled = made.poll(memory, PlanningContext(parallelism=1))
        memory = polled.cursor
        taken += [item["path"] for item in polled.items]
    assert taken == [f"s3://{BUCKET}{folder}/a.csv"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"secret_key": "wrong"}, "SignatureDoesNotMatch to ListObjectsV2: .* Correct secret_key"),
        ({"access_key": "nobody"}, "InvalidAccessKeyId to ListObjectsV2: .* Correct access_key"),
        ({"bucket": "no-such-bucket-here"}, "cannot be listed: .* the bucket does not exist"),
        ({"fs.s3a.endpoint": f"http://127.0.0.1:{deaf_port()}"}, "cannot be listed: no server responds"),
        ({"path": "/absent"}, f"s3://{BUCKET}/absent cannot be listed: No such file"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(server: S3Server, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(SourceError, match=says) as refused:
        source(server, **{"path": "/x", **wrong}).require_input()
    assert "wrong" not in str(refused.value)
    assert server.secret_key not in str(refused.value)


def reading_only(server: MinIO) -> dict[str, Any]:
    """The options of somebody who may read and list."""
    limited = server.restricted(BUCKET, "s3:GetObject", "s3:ListBucket")
    return {
        "fs.s3a.aws.credentials.provider": "TemporaryAWSCredentialsProvider",
        "access_key": limited["fs.s3a.access.key"],
        "secret_key": limited["fs.s3a.secret.key"],
        "hadoop_s3_properties": {
            "fs.s3a.path.style.access": "true",
            "fs.s3a.session.token": limited["fs.s3a.session.token"],
        },
    }


def test_a_check_tells_who_may_write_and_leaves_nothing(server: S3Server, folder: str) -> None:
    (said,) = sink(server, folder).dry_run(None)
    assert said.endswith("will be created (writable)")
    assert keys(server, folder) == []
    assert uploads_left(server, folder) == 0
    if isinstance(server, MinIO):
        with pytest.raises(SinkError, match="AccessDenied"):
            sink(server, folder, **reading_only(server)).dry_run(None)


def test_who_may_not_write_is_refused_before_any_row_moves(server: S3Server, folder: str) -> None:
    if not isinstance(server, MinIO):
        pytest.skip("one server shows it")
    more = reading_only(server)
    with pytest.raises(SinkError, match=r"sink S3File: .* cannot be written: .* AccessDenied to PutObject"):
        sink(server, folder, **more).prepare(sink_place(place()))


def test_a_rule_that_removes_what_is_staged_is_said(
    server: S3Server, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    if not isinstance(server, MinIO):
        pytest.skip("versitygw has no such rules")
    made = sink(server, folder)
    rule = {"ID": "r", "Status": "Enabled", "Filter": {"Prefix": folder[1:]}, "Expiration": {"Days": 7}}
    client = server.client()
    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration={"Rules": [rule]})
    try:
        made.prepare(sink_place(place()))
    finally:
        client.delete_bucket_lifecycle(Bucket=BUCKET)
    assert "removes objects after 7 days, so the staged output" in caplog.text
    assert f"Exclude s3://{BUCKET}{folder}/.seatunnel from the rule" in caplog.text


def test_through_a_proxy_as_an_assumed_role(
    server: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not isinstance(server, MinIO):
        pytest.skip("versitygw hands out no roles")
    forget_credentials(monkeypatch, tmp_path)
    properties = {
        "fs.s3a.path.style.access": "true",
        "fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/seatunnel",
        "fs.s3a.assumed.role.sts.endpoint": server.endpoint,
        "fs.s3a.assumed.role.session.duration": "15m",
        "fs.s3a.proxy.host": "127.0.0.1",
        "fs.s3a.proxy.username": "me",
        "fs.s3a.proxy.password": "p@ss",
    }
    with forward_proxy("me", "p@ss") as (port, forwarded):
        given = {
            "fs.s3a.aws.credentials.provider": "AssumedRoleCredentialProvider",
            "hadoop_s3_properties": {**properties, "fs.s3a.proxy.port": str(port)},
        }
        made = sink(server, folder, **given)
        made.prepare(sink_place(place()))
        commit(made, [stage(made, SCHEMA, [numbered(0, 5)], place())], place())
        again = source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}}, **given)
        assert sorted(row["id"] for row in read(again, plan(again))) == list(range(5))
    assert any(BUCKET in target for target in forwarded)
    assert any(BUCKET not in target for target in forwarded), "the role is assumed through the proxy, too"
