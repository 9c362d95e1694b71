"""``OssFile`` against the stand-in: the kit's suites, what staging leaves, and what a person sees who errs."""

import io
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import oss2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.oss import OssFileSink, OssFileSource
from seatunnel_core.connectors.filesystems.objects import files as object_files
from seatunnel_core.connectors.filesystems.objects import staged as staged_objects
from seatunnel_core.connectors.filesystems.oss import store as oss_store
from seatunnel_core.errors import CommitError, SinkError, SourceChangedError, SourceError, UsageError
from seatunnel_storage_api.retry import Backoff
from tests.connectors.file.sink_suite import FileSinkSuite
from tests.servers.objects.oss import BUCKET, KEY_ID, SECRET, OssStandIn
from tests.servers.objects.oss_stored import REGION
from tests.servers.process import deaf_port

pytestmark = [pytest.mark.servers, pytest.mark.twin, pytest.mark.xdist_group("oss-files")]

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OssStandIn]:
    server = OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def as_it_was(server: OssStandIn) -> Iterator[None]:
    yield
    server.set(denied={}, versioned=[], faults=[], rules={})


@pytest.fixture
def folder() -> str:
    """A place of its own for each test."""
    return f"/{uuid.uuid4().hex}"


@pytest.fixture(scope="module")
def bucket(server: OssStandIn) -> Iterator[Any]:
    """By the vendor's client, apart from ours."""
    found = oss2.Bucket(oss2.Auth(KEY_ID, SECRET), server.endpoint, BUCKET)
    with closing(found.session.session):
        yield found


def access(server: OssStandIn, **more: Any) -> dict[str, Any]:
    return {
        "bucket": f"oss://{BUCKET}",
        "endpoint": server.endpoint,
        "access_key": KEY_ID,
        "access_secret": SECRET,
        "hadoop_oss_properties": {"fs.oss.region": REGION},
        **more,
    }


def keys(bucket: Any, folder: str) -> list[str]:
    return [each.key for each in bucket.list_objects_v2(prefix=f"{folder[1:]}/", max_keys=1000).object_list]


def uploads_left(bucket: Any, folder: str) -> int:
    return len(bucket.list_multipart_uploads(prefix=f"{folder[1:]}/").upload_list)


def parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), COLUMNS), out, row_group_size=50)
    return out.getvalue()


def source(server: OssStandIn, path: str, **more: Any) -> OssFileSource:
    given = {**access(server), "path": path, "file_format_type": "parquet", **more}
    return OssFileSource(options_of(OssFileSource, given))


def sink(server: OssStandIn, path: str, **more: Any) -> OssFileSink:
    return OssFileSink(options_of(OssFileSink, {**access(server), "path": path, "file_format_type": "json", **more}))


class TestSource(SourceConformance):
    source_class = OssFileSource

    @pytest.fixture(autouse=True)
    def files(self, server: OssStandIn, bucket: Any, folder: str) -> None:
        for name, rows in (("a", ROWS[:200]), ("deep/b", ROWS[200:]), ("_ignored", ROWS)):
            bucket.put_object(f"{folder[1:]}/{name}", parquet(rows))
        self.given = {**access(server), "path": folder, "file_format_type": "parquet", "split_size": 500}

    def options(self) -> Mapping[str, Any]:
        return self.given

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestSink(FileSinkSuite):
    sink_class = OssFileSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, server: OssStandIn, bucket: Any, folder: str) -> None:
        self.given = {**access(server), "path": folder, "file_format_type": "json"}
        self.bucket, self.folder = bucket, folder

    def files(self) -> Mapping[str, bytes]:
        return {key: self.bucket.get_object(key).read() for key in keys(self.bucket, self.folder)}

    def lose(self) -> bool:
        for key in keys(self.bucket, self.folder):
            self.bucket.delete_object(key)
        return True

    def staged(self) -> int:
        return super().staged() + uploads_left(self.bucket, self.folder)


@pytest.mark.parametrize("region", [REGION, None], ids=["signed by 4", "signed by 1"])
def test_a_large_file_goes_in_parts(
    server: OssStandIn, bucket: Any, folder: str, region: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_objects, "PART_BYTES", 1 << 20)
    monkeypatch.setattr(object_files, "LARGEST_COPY", 1 << 20)
    properties = {"fs.oss.region": region} if region else {}
    made = sink(server, folder, file_format_type="csv", hadoop_oss_properties=properties)
    made.prepare(sink_place(place()))
    rows = [{"id": number, "name": "x" * 100_000} for number in range(25)]
    committable = stage(made, SCHEMA, [pa.RecordBatch.from_pylist(rows, schema=COLUMNS)], place())
    ((_, _, receipt),) = committable.body["files"]
    assert receipt == {"size": committable.bytes}
    assert [key for key in keys(bucket, folder) if "/.seatunnel/" not in key] == []
    commit(made, [committable], place())
    declared = {"fields": {"id": "bigint", "name": "string"}}
    again = source(server, folder, file_format_type="csv", schema=declared, hadoop_oss_properties=properties)
    assert read(again) == rows
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(bucket, folder) == 0


# -- R8: what is gone, and what is there -------------------------------------------------------------------------------


def staged_file(server: OssStandIn, folder: str) -> tuple[OssFileSink, Any, str]:
    """A sink, a committable of it, and the key that its file is to have."""
    made = sink(server, folder)
    made.prepare(sink_place(place()))
    committable = stage(made, SCHEMA, [numbered(0, 2)], place())
    return made, committable, f"{folder[1:]}/{committable.body['files'][0][0]}"


def test_what_is_gone_without_a_copy_is_an_error_that_names_both(server: OssStandIn, bucket: Any, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    bucket.delete_object(f"{folder[1:]}/.seatunnel/job/1/1/{key.rpartition('/')[2]}")
    with pytest.raises(
        CommitError, match=rf"and its target oss://{BUCKET}/{key} no longer exist.*missing_staged = published"
    ):
        commit(made, [committable], place(), may_be_committed=True)
    commit(sink(server, folder, missing_staged="published"), [committable], place(), may_be_committed=True)


def test_a_commit_that_is_repeated_finds_what_it_published_and_nothing_else(
    server: OssStandIn, bucket: Any, folder: str
) -> None:
    made, committable, key = staged_file(server, folder)
    commit(made, [committable], place())
    commit(made, [committable], place(), may_be_committed=True)
    bucket.put_object(key, b"x" * committable.bytes)
    with pytest.raises(CommitError, match="is not the object that was staged"):
        commit(made, [committable], place(), may_be_committed=True)


def test_a_target_that_is_there_is_never_replaced(server: OssStandIn, bucket: Any, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    bucket.put_object(key, b"theirs")
    with pytest.raises(
        CommitError, match=rf"oss://{BUCKET}/{key} already exists, but oss://{BUCKET}{folder}/\.seatunnel/.* has"
    ):
        commit(made, [committable], place(), may_be_committed=True)
    assert bucket.get_object(key).read() == b"theirs"
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(bucket, folder) == 0


def test_a_bucket_that_would_replace_is_refused(server: OssStandIn, folder: str) -> None:
    server.set(versioned=[BUCKET])
    with pytest.raises(SinkError, match="versioning of the bucket is enabled or suspended"):
        sink(server, folder).prepare(sink_place(place()))


@pytest.mark.parametrize("fault", ["drop", "drop-after", 503])
def test_what_passes_costs_no_row(server: OssStandIn, bucket: Any, folder: str, fault: str | int) -> None:
    """Also where the answer to the request that copied was lost: it is sent again, and the copy is there."""
    made, committable, key = staged_file(server, folder)
    server.set(faults=[fault, fault])
    commit(made, [committable], place())
    server.set(faults=[fault])
    reading = source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert [row["id"] for row in read(reading)] == [0, 1]
    more = stage(made, SCHEMA, [numbered(2, 1)], place(unit=2))
    copy = type(made.files.store).copy  # type: ignore[attr-defined]

    def lost(self: Any, *arguments: Any) -> None:
        server.set(faults=[fault])
        copy(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(made.files.store), "copy", lost)  # type: ignore[attr-defined]
        commit(made, [more], place())
    assert key in keys(bucket, folder)
    assert len(read(reading)) == 3


def test_an_object_that_changed_is_refused(server: OssStandIn, bucket: Any, folder: str) -> None:
    """Also one of the same size, whatever its time says, and in the midst of reading."""
    key = f"{folder[1:]}/a.csv"
    bucket.put_object(key, b"1\n2\n")
    made = source(server, folder, file_format_type="csv", schema={"fields": {"id": "bigint"}})
    found = plan(made)
    (version,) = made._listing.files()
    with made._files.open(version) as file:
        bucket.put_object(key, b"1\n3\n")
        with pytest.raises(SourceChangedError, match=r"a\.csv changed after it was listed: it was rewritten"):
            file.read_range(0, 4)
    with pytest.raises(SourceChangedError, match=r"it was modified \(4 bytes when listed, 4 now\)"):
        read(made, found)
    bucket.delete_object(key)
    with pytest.raises(SourceChangedError, match="it no longer exists"):
        read(made, found)


def test_a_save_mode_leaves_nothing_of_what_it_takes(server: OssStandIn, bucket: Any, folder: str) -> None:
    for number in range(3):
        bucket.put_object(f"{folder[1:]}/old/{number}", b"{}")
    made = sink(server, folder, data_save_mode="DROP_DATA")
    made.prepare(sink_place(place()))
    made.apply_save_mode(sink_place(place()))
    (fence,) = keys(bucket, folder)
    assert "/.seatunnel/job/save-mode/" in fence
    made.clear(sink_place(place()))
    assert keys(bucket, folder) == []


def test_a_rule_that_removes_what_is_staged_is_said(
    server: OssStandIn, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    rule = "<Rule><ID>r</ID><Prefix></Prefix><Status>Enabled</Status><Expiration><Days>7</Days></Expiration></Rule>"
    server.set(rules={BUCKET: [rule]})
    sink(server, folder).prepare(sink_place(place()))
    assert "removes objects after 7 days, so the staged output" in caplog.text


def test_an_object_that_comes_between_the_look_and_the_copy_is_not_replaced(
    server: OssStandIn, bucket: Any, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, committable, key = staged_file(server, folder)
    store = type(made.files.store)  # type: ignore[attr-defined]
    copy = store.copy

    def late(*arguments: Any) -> None:
        bucket.put_object(key, b"theirs")
        copy(*arguments)

    monkeypatch.setattr(store, "copy", late)
    with pytest.raises(
        CommitError, match=rf"oss://{BUCKET}/{key} already exists, but oss://{BUCKET}{folder}/\.seatunnel/.* has"
    ):
        commit(made, [committable], place())
    assert bucket.get_object(key).read() == b"theirs"


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            {"access_secret": "wrong"},
            r"SignatureDoesNotMatch.*access_key and access_secret as shown in the console",
        ),
        ({"access_key": "nobody"}, "InvalidAccessKeyId"),
        ({"bucket": "no-such-bucket-here"}, "NoSuchBucket: .*Create the bucket, or correct bucket and endpoint"),
        ({"security_token": "ended"}, "InvalidAccessKeyId.*security_token if they are temporary"),
        ({"endpoint": f"http://127.0.0.1:{deaf_port()}"}, "cannot be listed: .*Check that endpoint is correct"),
        ({"path": "/absent"}, f"oss://{BUCKET}/absent cannot be listed: No such file"),
    ],
)
def test_a_mistake_is_named_before_anything_is_read(
    server: OssStandIn, wrong: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oss_store, "_PATIENCE", Backoff(attempts=1))
    with pytest.raises(SourceError, match=says) as refused:
        source(server, **{"path": "/x", **wrong}).require_input()
    assert "wrong" not in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"access_key": None}, "access_key must be set: use the access key of a RAM user"),
        ({"bucket": "a/b"}, "bucket is 'a/b', which is not a bucket name.*put folders within the bucket in path"),
        ({"hadoop_oss_properties": {"fs.oss.regoin": "x"}}, "option 'hadoop_oss_properties': 'fs.oss.regoin' has no"),
    ],
)
def test_a_wrong_option_is_named(server: OssStandIn, wrong: dict[str, Any], says: str) -> None:
    given = {key: value for key, value in access(server, **wrong).items() if value is not None}
    with pytest.raises(UsageError, match=says) as raised:
        OssFileSource(options_of(OssFileSource, {**given, "path": "/x", "file_format_type": "parquet"}))
    assert SECRET not in str(raised.value)


def test_what_tunes_hadoops_client_is_reported_and_of_no_effect(
    server: OssStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    """Keys that every Hadoop configuration has, such as ``fs.oss.impl``, were refused with the job that has them."""
    properties = {"fs.oss.impl": "org.apache.hadoop.fs.aliyun.oss.AliyunOSSFileSystem", "fs.oss.region": REGION}
    given = {**access(server), "hadoop_oss_properties": properties, "path": "/x", "file_format_type": "parquet"}
    OssFileSource(options_of(OssFileSource, given))
    assert "hadoop_oss_properties: 'fs.oss.impl' tunes Hadoop's client and has no effect" in caplog.text
    assert "fs.oss.region" not in caplog.text


def test_who_may_not_write_is_refused_before_any_row_moves(server: OssStandIn, folder: str) -> None:
    server.set(denied={KEY_ID: ["PutObject"]})
    with pytest.raises(SinkError, match=r"sink OssFile: .* cannot be written: .*403 AccessDenied.*Grant oss:PutObject"):
        sink(server, folder).prepare(sink_place(place()))
