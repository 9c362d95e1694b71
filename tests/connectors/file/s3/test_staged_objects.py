"""What ``S3File`` stages and publishes: uploads in parts, copies, repeated commits, servers that die, sweeps."""

import random
import threading
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, read, stage
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.s3 import S3FileSink
from seatunnel_core.connectors.filesystems.objects import files as object_files
from seatunnel_core.connectors.filesystems.objects import staged as staged_objects
from seatunnel_core.connectors.filesystems.s3.store import S3Store
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch
from tests.connectors.file.s3.s3_files import BUCKET, COLUMNS, keys, sink, source, uploads_left
from tests.servers.objects.s3 import S3Server

pytestmark = [pytest.mark.servers, pytest.mark.timeout(400), pytest.mark.xdist_group("s3-files")]


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
    assert read(again) == rows
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(server, folder) == 0


def test_a_small_file_costs_six_requests(server: S3Server, folder: str) -> None:
    made = sink(server, folder)
    made.prepare(sink_place(place()))
    counted: Counter[str] = Counter()
    events = made.files.store.client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.s3", lambda model, **_: counted.update([model.name]), unique_id="counting")
    try:
        committable = stage(made, SCHEMA, [numbered(0, 5)], place())
        assert counted == {"PutObject": 1, "HeadObject": 1}, "the mark of the epoch is there"
        commit(made, [committable], place())
    finally:
        events.unregister("before-call.s3", unique_id="counting")
    assert counted == {"PutObject": 1, "HeadObject": 3, "CopyObject": 1, "DeleteObject": 1}


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
    with pytest.raises(
        CommitError, match=rf"and its target s3://{BUCKET}/{key} no longer exist.*missing_staged = published"
    ):
        commit(made, [committable], place(), may_be_committed=True)
    commit(sink(server, folder, missing_staged="published"), [committable], place(), may_be_committed=True)


def test_a_commit_that_is_repeated_finds_what_it_published_and_nothing_else(server: S3Server, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    commit(made, [committable], place())
    commit(made, [committable], place(), may_be_committed=True)
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"x" * committable.bytes)
    with pytest.raises(CommitError, match="is not the object that was staged"):
        commit(made, [committable], place(), may_be_committed=True)


def test_a_kill_before_the_staged_object_is_removed_is_no_harm(server: S3Server, folder: str) -> None:
    """Also where the answer to the request that copied it was lost, and the request is sent again."""
    made, committable, key = staged_file(server, folder)
    body = server.client().get_object(Bucket=BUCKET, Key=staged_key(folder, key))["Body"].read()
    commit(made, [committable], place())
    server.client().put_object(Bucket=BUCKET, Key=staged_key(folder, key), Body=body)
    commit(made, [committable], place(), may_be_committed=True)
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
            commit(made, staged, place(), may_be_committed=True)
        finally:
            killer.join()
            restart.join()
    again = source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert sorted(row["id"] for row in read(again)) == list(range(240))
    assert [key for key in keys(server, folder) if "/.seatunnel/" in key] == []


def test_a_target_that_is_there_is_never_replaced(server: S3Server, folder: str) -> None:
    made, committable, key = staged_file(server, folder)
    server.client().put_object(Bucket=BUCKET, Key=key, Body=b"theirs")
    with pytest.raises(
        CommitError,
        match=rf"s3://{BUCKET}/{key} already exists, but s3://{BUCKET}{folder}/\.seatunnel/.* has not been renamed",
    ):
        commit(made, [committable], place(), may_be_committed=True)
    assert server.client().get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"theirs"
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert uploads_left(server, folder) == 0


def test_a_server_that_was_killed_has_what_was_staged(server: S3Server, folder: str) -> None:
    made, committable, _ = staged_file(server, folder)
    writer = begin(made, SCHEMA, place(unit=2))
    writer.write(Batch(table=SCHEMA.table, rows=numbered(5, 1)))
    server.restart()
    commit(made, [committable], place(), may_be_committed=True)
    assert len(read(source(server, folder, file_format_type="json", schema={"fields": {"id": "bigint"}}))) == 2
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
    with pytest.raises(SinkError, match="contains 'new', and data_save_mode is ERROR_WHEN_DATA_EXISTS"):
        refusing.apply_save_mode(sink_place(place()))
