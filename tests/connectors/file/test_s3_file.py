"""``S3File`` against MinIO and versitygw: the kit's suites, what staging leaves, and what a person sees who errs."""

import io
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connectors.file.s3 import S3FileSink, S3FileSource
from seatunnel_core.connectors.filesystems.objects import files as object_files
from seatunnel_core.connectors.filesystems.objects import staged as staged_objects
from seatunnel_core.connectors.filesystems.s3.store import S3Store
from seatunnel_core.connectors.source import Planning
from seatunnel_core.connectors.testing import SinkConformance, SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connectors.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.errors import CommitError, SinkError, SourceChangedError, SourceError
from seatunnel_core.rows.batch import Batch
from tests.servers.objects.minio import MinIO
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw
from tests.servers.process import deaf_port

pytestmark = [pytest.mark.servers, pytest.mark.timeout(400), pytest.mark.xdist_group("s3-files")]

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]
BUCKET = "files"
BEGUN: set[str] = set()
"""The keys of uploads."""


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


def access(server: S3Server, **more: Any) -> dict[str, Any]:
    return {
        "bucket": f"s3a://{BUCKET}",
        "fs.s3a.endpoint": server.endpoint,
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "access_key": server.access_key,
        "secret_key": server.secret_key,
        "hadoop_s3_properties": {"fs.s3a.path.style.access": "true"},
        **more,
    }


def keys(server: S3Server, folder: str) -> list[str]:
    found = server.client().list_objects_v2(Bucket=BUCKET, Prefix=f"{folder[1:]}/")
    return [each["Key"] for each in found.get("Contents", ())]


def note_uploads(server: S3Server) -> None:
    """From now on, the key of every upload that a sink of this process begins is known."""
    client = sink(server, "/any").files.store.client  # type: ignore[attr-defined]
    client.meta.events.register(
        "provide-client-params.s3.CreateMultipartUpload",
        lambda params, **_: BEGUN.add(params["Key"]),
        unique_id="the tests",
    )


def uploads_left(server: S3Server, folder: str) -> int:
    """Key by key: MinIO lists the uploads of one only."""
    client, begun = server.client(), [key for key in BEGUN if key.startswith(f"{folder[1:]}/")]
    found = (client.list_multipart_uploads(Bucket=BUCKET, Prefix=key).get("Uploads", ()) for key in begun)
    return sum(len(each) for each in found)


def parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), COLUMNS), out, row_group_size=50)
    return out.getvalue()


def source(server: S3Server, path: str, **more: Any) -> S3FileSource:
    given = {**access(server), "path": path, "file_format_type": "parquet", **more}
    return S3FileSource(options_of(S3FileSource, given))


def sink(server: S3Server, path: str, **more: Any) -> S3FileSink:
    return S3FileSink(options_of(S3FileSink, {**access(server), "path": path, "file_format_type": "json", **more}))


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


class TestSink(SinkConformance):
    sink_class = S3FileSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: S3Server, folder: str) -> None:
        self.server, self.folder = server, folder

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def options(self) -> Mapping[str, Any]:
        return {**access(self.server), "path": self.folder, "file_format_type": "json"}

    def staged(self) -> int:
        notes = sum("/.seatunnel/" in key for key in keys(self.server, self.folder))
        return notes + uploads_left(self.server, self.folder)

    def visible(self) -> Sequence[Mapping[str, Any]]:
        client = self.server.client()
        shown = [key for key in keys(self.server, self.folder) if "/.seatunnel/" not in key]
        bodies = [client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in shown]
        return [json.loads(line) for body in bodies for line in body.splitlines()]


def in_parts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Let files of a few MiB be large ones, and count the parts that are sent and copied."""
    monkeypatch.setattr(staged_objects, "PART_BYTES", 5 << 20)  # the smallest that a server takes
    monkeypatch.setattr(object_files, "LARGEST_COPY", 5 << 20)
    counted: Counter[str] = Counter()
    for name in ("send", "send_copy"):
        original = getattr(S3Store, name)

        def counting(*arguments: Any, name: str = name, original: Any = original) -> str:
            counted[name] += 1
            return str(original(*arguments))

        monkeypatch.setattr(S3Store, name, counting)
    return counted


def test_a_large_file_goes_in_parts(server: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = in_parts(monkeypatch)
    made = sink(server, folder, file_format_type="csv")
    made.prepare(sink_place(place()))
    text = "x" * 100_000
    rows = [{"id": number, "name": text} for number in range(120)]
    batch = pa.RecordBatch.from_pylist(rows, schema=COLUMNS)
    committable = stage(made, SCHEMA, [batch], place())
    ((_, _, receipt),) = committable.body["files"]
    assert receipt == {"size": committable.bytes}
    assert [key for key in keys(server, folder) if "/.seatunnel/" not in key] == []
    commit(made, [committable], place())
    assert counted == {"send": 3, "send_copy": 3}
    again = source(server, folder, file_format_type="csv", schema={"fields": {"id": "bigint", "name": "string"}})
    assert read(again, plan(again)) == rows
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(server, folder) == 0


def test_a_small_file_costs_four_requests(server: S3Server, folder: str) -> None:
    made = sink(server, folder)
    made.prepare(sink_place(place()))
    counted: Counter[str] = Counter()
    events = made.files.store.client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.s3", lambda model, **_: counted.update([model.name]), unique_id="counting")
    try:
        committable = stage(made, SCHEMA, [numbered(0, 5)], place())
        assert counted == {"PutObject": 1}
        commit(made, [committable], place())
    finally:
        events.unregister("before-call.s3", unique_id="counting")
    assert counted == {"PutObject": 1, "HeadObject": 1, "CopyObject": 1, "DeleteObject": 1}


def test_a_task_that_dies_in_a_large_file_leaves_nothing_that_a_sweep_does_not_find(
    server: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts(monkeypatch)
    made = sink(server, folder, file_format_type="csv")
    made.prepare(sink_place(place()))
    writer = begin(made, SCHEMA, place())
    rows = [{"id": number, "name": "x" * 100_000} for number in range(120)]
    writer.write(Batch(table=SCHEMA.table, rows=pa.RecordBatch.from_pylist(rows, schema=COLUMNS)))
    assert (len(keys(server, folder)), uploads_left(server, folder)) == (1, 1)
    assert made.sweep(sink_place(place()), frozenset(), final=True) == 1
    assert (keys(server, folder), uploads_left(server, folder)) == ([], 0)


@pytest.mark.parametrize("lies", [None, FileNotFoundError(2, "no such upload"), OSError(22, "InvalidPart")])
def test_a_server_that_lost_an_upload_is_not_believed(
    server: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch, lies: OSError | None
) -> None:
    """What versitygw and MinIO answer after a kill, put in: a kill meets it once in some. The unit is tried again."""
    in_parts(monkeypatch)

    def lost(*_: Any, **__: Any) -> None:
        if lies is not None:
            raise lies

    monkeypatch.setattr(S3Store, "complete", lost)
    made = sink(server, folder, file_format_type="csv")
    made.prepare(sink_place(place()))
    rows = [{"id": number, "name": "x" * 100_000} for number in range(60)]
    with pytest.raises(SinkError, match="cannot be written: ") as raised:
        stage(made, SCHEMA, [pa.RecordBatch.from_pylist(rows, schema=COLUMNS)], place())
    assert raised.value.retryable
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert (keys(server, folder), uploads_left(server, folder)) == ([], 0)


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
    again = source(server, folder, file_format_type=format, **more)
    assert sorted(row["id"] for row in read(again, plan(again))) == list(range(5))
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
    commit(made, [committable], place(epoch=2), again=True)
    assert client.get_object(Bucket=BUCKET, Key=f"{folder[1:]}/out/deep/b.bin")["Body"].read() == b"deep/b.bin" * 1000
    left = client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{folder[1:]}/out/a.bin").get("Uploads", ())
    assert [each["UploadId"] for each in left] == [theirs]
    client.abort_multipart_upload(Bucket=BUCKET, Key=f"{folder[1:]}/out/a.bin", UploadId=theirs)


# -- R8: what is gone, and what is there -------------------------------------------------------------------------------


def staged_file(server: S3Server, folder: str, **more: Any) -> tuple[S3FileSink, Any, str]:
    """A sink, a committable of it, and the key that its file is to have."""
    made = sink(server, folder, **more)
    made.prepare(sink_place(place()))
    committable = stage(made, SCHEMA, [numbered(0, 2)], place())
    return made, committable, f"{folder[1:]}/{committable.body['files'][0][0]}"


def staged_key(folder: str, key: str) -> str:
    return f"{folder[1:]}/.seatunnel/job/1/1/{key.rpartition('/')[2]}"


def test_what_is_gone_without_a_copy_is_an_error_that_names_both(server: S3Server, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    server.client().delete_object(Bucket=BUCKET, Key=staged_key(folder, key))
    with pytest.raises(CommitError, match=rf"is gone, and so is s3://{BUCKET}/{key}:.*missing_staged = published"):
        commit(made, [committable], place(), again=True)
    commit(sink(server, folder, missing_staged="published"), [committable], place(), again=True)


def test_a_commit_that_is_repeated_finds_what_it_published_and_nothing_else(server: S3Server, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    commit(made, [committable], place())
    commit(made, [committable], place(), again=True)
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"x" * committable.bytes)
    with pytest.raises(CommitError, match="another object than the one that was staged"):
        commit(made, [committable], place(), again=True)


def test_a_kill_before_the_staged_object_is_removed_is_no_harm(server: S3Server, folder: str) -> None:
    """Also where the answer to the request that copied it was lost, and the request is sent again."""
    made, committable, key = staged_file(server, folder)
    body = server.client().get_object(Bucket=BUCKET, Key=staged_key(folder, key))["Body"].read()
    commit(made, [committable], place())
    server.client().put_object(Bucket=BUCKET, Key=staged_key(folder, key), Body=body)
    commit(made, [committable], place(), again=True)
    assert keys(server, folder) == [key]


def test_a_server_that_is_killed_while_it_publishes_loses_no_file(server: S3Server, folder: str) -> None:
    """Both would, if files were published by completing uploads: docs/design/decisions/object-stores.md."""
    made = sink(server, folder)
    made.prepare(sink_place(place()))
    rng = random.Random(5)
    for round in range(10):
        units = range(24 * round, 24 * (round + 1))
        staged = [stage(made, SCHEMA, [numbered(unit, 1)], place(unit=unit)) for unit in units]
        killer = threading.Timer(rng.uniform(0, 0.15), server.process.kill)
        restart = threading.Timer(1, server.process.start)
        killer.start()
        restart.start()
        try:
            commit(made, staged, place(), again=True)
        finally:
            killer.join()
            restart.join()
    again = source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert sorted(row["id"] for row in read(again, plan(again))) == list(range(240))
    assert [key for key in keys(server, folder) if "/.seatunnel/" in key] == []


def test_a_target_that_is_there_is_never_replaced(server: S3Server, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"theirs")
    with pytest.raises(
        CommitError, match=rf"s3://{BUCKET}/{key} exists, and s3://{BUCKET}{folder}/\.seatunnel/.* waits"
    ):
        commit(made, [committable], place(), again=True)
    assert server.client().get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"theirs"
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(server, folder) == 0


def test_a_server_that_was_killed_has_what_was_staged(server: S3Server, folder: str) -> None:
    made, committable, _ = staged_file(server, folder)
    writer = begin(made, SCHEMA, place(unit=2))
    writer.write(Batch(table=SCHEMA.table, rows=numbered(5, 1)))
    server.restart()
    commit(made, [committable], place(), again=True)
    again = source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert len(read(again, plan(again))) == 2
    writer.abort()
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(server, folder) == 0


def test_a_save_mode_and_a_retraction_leave_nothing_of_what_they_take(server: S3Server, folder: str) -> None:
    client = server.client()
    for number in range(3):
        client.put_object(Bucket=BUCKET, Key=f"{folder[1:]}/old/{number}", Body=b"{}")
    made = sink(server, folder, data_save_mode="DROP_DATA")
    made.prepare(sink_place(place()))
    made.apply_save_mode(sink_place(place()))
    (fence,) = keys(server, folder)
    assert "/.seatunnel/job/save-mode/" in fence
    made.clear(sink_place(place()))
    assert keys(server, folder) == []
    refusing = sink(server, folder, data_save_mode="ERROR_WHEN_DATA_EXISTS")
    refusing.apply_save_mode(sink_place(place()))
    client.put_object(Bucket=BUCKET, Key=f"{folder[1:]}/new", Body=b"{}")
    with pytest.raises(SinkError, match="holds 'new' and data_save_mode is ERROR_WHEN_DATA_EXISTS"):
        refusing.apply_save_mode(sink_place(place()))


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
        with pytest.raises(SourceChangedError, match=r"a\.csv changed after it was listed: it was written again"):
            file.read_range(0, 4)
    with pytest.raises(SourceChangedError, match=r"had 4 bytes and now has 4, or was written again"):
        read(made, found)
    client.delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(SourceChangedError, match="it is not there any more"):
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
        polled = made.poll(memory, Planning(parallelism=1))
        memory = polled.memory
        taken += [item["path"] for item in polled.items]
    assert taken == [f"s3://{BUCKET}{folder}/a.csv"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"secret_key": "wrong"}, "the server refuses it: SignatureDoesNotMatch: "),
        ({"access_key": "nobody"}, "the server refuses it: InvalidAccessKeyId: "),
        ({"bucket": "no-such-bucket-here"}, "cannot be listed: there is no such bucket"),
        ({"fs.s3a.endpoint": f"http://127.0.0.1:{deaf_port()}"}, "cannot be listed: Could not connect"),
        ({"path": "/absent"}, f"s3://{BUCKET}/absent cannot be listed: No such file"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(server: S3Server, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(SourceError, match=says) as refused:
        source(server, **{"path": "/x", **wrong}).require_input()
    assert "wrong" not in str(refused.value)
    assert server.secret_key not in str(refused.value)


def test_who_may_not_write_is_told_before_any_row_moves(server: S3Server, folder: str) -> None:
    if not isinstance(server, MinIO):
        pytest.skip("one server shows it")
    limited = server.restricted(BUCKET, "s3:GetObject", "s3:ListBucket")
    more = {
        "fs.s3a.aws.credentials.provider": "TemporaryAWSCredentialsProvider",
        "access_key": limited["fs.s3a.access.key"],
        "secret_key": limited["fs.s3a.secret.key"],
        "hadoop_s3_properties": {
            "fs.s3a.path.style.access": "true",
            "fs.s3a.session.token": limited["fs.s3a.session.token"],
        },
    }
    with pytest.raises(SinkError, match=r"sink S3File: .* cannot be written: the server refuses it: AccessDenied"):
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
    assert "removes objects after 7 days: what is staged for longer" in caplog.text
    assert f"Let the rule leave out s3://{BUCKET}{folder}/.seatunnel, or" in caplog.text
