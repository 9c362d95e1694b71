"""``HdfsFile`` against HDFS: the kit's suites, one NameNode after the other, and what a person sees who errs."""

import io
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.hdfs import HdfsFileSink, HdfsFileSource
from seatunnel_core.connectors.filesystems import hdfs as hdfs_files
from seatunnel_core.errors import CommitError, SinkError, SourceChangedError, SourceError, UsageError
from seatunnel_storage_api.retry import Backoff
from tests.connectors.file.hdfs_files import Files
from tests.connectors.file.sink_suite import FileSinkSuite
from tests.servers.hadoop import HdfsCluster, HighlyAvailableHdfs

pytestmark = [pytest.mark.servers, pytest.mark.timeout(400), pytest.mark.xdist_group("hdfs-files")]

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(cluster: HdfsCluster) -> Files:
    return Files(cluster.http)


@pytest.fixture
def folder() -> str:
    """A place of its own for each test."""
    return f"/{uuid.uuid4().hex}"


def access(cluster: HdfsCluster, **more: Any) -> dict[str, Any]:
    return {"fs.defaultFS": f"hdfs://{cluster.rpc}", "dfs.namenode.http-address": cluster.http, **more}


def source(cluster: HdfsCluster, path: str, **more: Any) -> HdfsFileSource:
    given = {**access(cluster), "path": path, "file_format_type": "parquet", **more}
    return HdfsFileSource(options_of(HdfsFileSource, given))


def sink(cluster: HdfsCluster, path: str, **more: Any) -> HdfsFileSink:
    return HdfsFileSink(options_of(HdfsFileSink, {**access(cluster), "path": path, "file_format_type": "json", **more}))


def parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), COLUMNS), out, row_group_size=50)
    return out.getvalue()


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_files, "_PATIENCE", Backoff(attempts=1))


class TestSource(SourceConformance):
    source_class = HdfsFileSource

    @pytest.fixture(autouse=True)
    def files(self, cluster: HdfsCluster, server: Files, folder: str) -> None:
        for name, rows in (("a", ROWS[:200]), ("deep/b #1", ROWS[200:]), ("_ignored", ROWS)):
            server.put(f"{folder}/{name.replace('#', '%23').replace(' ', '%20')}", parquet(rows))
        self.given = {**access(cluster), "path": folder, "file_format_type": "parquet", "split_size": 500}

    def options(self) -> Mapping[str, Any]:
        return self.given

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestSink(FileSinkSuite):
    sink_class = HdfsFileSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, cluster: HdfsCluster, server: Files, folder: str) -> None:
        self.server, self.folder = server, folder
        self.given = {**access(cluster), "path": folder, "file_format_type": "json"}

    def files(self) -> Mapping[str, bytes]:
        return self.server.contents(self.folder)

    def lose(self) -> bool:
        self.server.delete(self.folder)
        return True


@pytest.mark.parametrize("format", ["csv", "orc", "excel"])
def test_formats_come_back_as_they_went(cluster: HdfsCluster, server: Files, folder: str, format: str) -> None:
    """An empty csv file too, which has no byte to send."""
    made = sink(cluster, folder, file_format_type=format, create_empty_file_when_no_data=True)
    made.prepare(sink_place(place()))
    staged = [stage(made, SCHEMA, batches, place(unit=unit)) for unit, batches in ((1, [numbered(0, 5)]), (2, []))]
    commit(made, staged, place())
    declared = {"schema": {"fields": {"id": "bigint", "name": "string"}}}
    header = {"skip_header_row_number": 1} if format == "excel" else {}
    again = source(cluster, folder, file_format_type=format, **({} if format == "orc" else {**declared, **header}))
    assert sorted(row["id"] for row in read(again)) == list(range(5))
    assert len([path for path in server.all_in(folder) if "/.seatunnel/" not in path]) == 2


# -- R8: what is gone, and what is there -------------------------------------------------------------------------------


def staged_file(cluster: HdfsCluster, folder: str) -> tuple[HdfsFileSink, Any, str]:
    """A sink, a committable of it, and the path that its file is to have."""
    made = sink(cluster, folder)
    made.prepare(sink_place(place()))
    committable = stage(made, SCHEMA, [numbered(0, 2)], place())
    return made, committable, f"{folder}/{committable.body['files'][0][0]}"


def test_a_commit_that_is_repeated_finds_what_it_published_and_nothing_else(
    cluster: HdfsCluster, server: Files, folder: str
) -> None:
    made, committable, path = staged_file(cluster, folder)
    commit(made, [committable], place())
    commit(made, [committable], place(), may_be_committed=True)
    server.put(path, b"x" * committable.bytes)
    with pytest.raises(CommitError, match="is not the file that was staged"):
        commit(made, [committable], place(), may_be_committed=True)
    server.delete(path)
    commit(made, [committable], place(), may_be_committed=True)  # somebody took it away: the staging folder is there
    server.delete(folder)
    with pytest.raises(CommitError, match=r"the staging folder hdfs://.*/\.seatunnel/job/1/1 no longer exists"):
        commit(made, [committable], place(), may_be_committed=True)


def test_an_answer_that_was_lost_is_no_second_file(
    cluster: HdfsCluster, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is sent again, and meets its own success."""
    made, committable, path = staged_file(cluster, folder)
    files: Any = made.files
    original, answers = type(files)._rename, []

    def lost(self: Any, old: str, new: str) -> bool:
        answers.append(original(self, old, new))
        return original(self, old, new)

    monkeypatch.setattr(type(files), "_rename", lost)
    commit(made, [committable], place())
    assert answers == [True]
    assert files.exists(f"{files.top}{path}")


def test_a_target_that_is_there_is_never_replaced(cluster: HdfsCluster, server: Files, folder: str) -> None:
    made, committable, path = staged_file(cluster, folder)
    server.put(path, b"theirs")
    with pytest.raises(
        CommitError, match=rf"{path} already exists, but hdfs://.*{folder}/\.seatunnel/.* has not been renamed"
    ):
        commit(made, [committable], place(), may_be_committed=True)
    assert server.get(path) == b"theirs"


def test_a_folder_in_the_place_of_the_target_takes_nothing_in(
    cluster: HdfsCluster, server: Files, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain rename would move the file into it."""
    impatient(monkeypatch)
    made, committable, path = staged_file(cluster, folder)
    assert server.ask("PUT", "MKDIRS", path).ok
    with pytest.raises(CommitError, match=rf"{path}: IOException: .* must both be directories"):
        commit(made, [committable], place(), may_be_committed=True)
    assert server.all_in(path) == []


def test_of_many_that_publish_at_once_one_does(cluster: HdfsCluster, folder: str) -> None:
    made, committable, path = staged_file(cluster, folder)
    said: list[BaseException] = []

    def publish() -> None:
        try:
            commit(made, [committable], place(), may_be_committed=True)
        except BaseException as error:
            said.append(error)

    threads = [threading.Thread(target=publish) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert said == []
    again = source(cluster, path, file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert [row["id"] for row in read(again)] == [0, 1]


def test_a_save_mode_leaves_nothing(cluster: HdfsCluster, server: Files, folder: str) -> None:
    for number in range(3):
        server.put(f"{folder}/old/{number}", b"{}")
    made = sink(cluster, folder, data_save_mode="DROP_DATA")
    made.prepare(sink_place(place()))
    made.apply_save_mode(sink_place(place()))
    assert server.all_in(folder) == []


def test_a_file_that_changed_is_refused(cluster: HdfsCluster, server: Files, folder: str) -> None:
    """Also one of the same size, whatever its time says."""
    server.put(f"{folder}/a.csv", b"1\n2\n")
    made = source(cluster, folder, file_format_type="csv", schema={"fields": {"id": "bigint"}})
    found = plan(made)
    (version,) = made._listing.files()
    with made._files.open(version) as file:
        server.put(f"{folder}/a.csv", b"1\n3\n")
        with pytest.raises(SourceChangedError, match=r"a\.csv changed after it was listed: it was modified \(4 bytes"):
            file.check()
    with pytest.raises(SourceChangedError, match=r"it was modified \(4 bytes when listed, 4 now\)"):
        read(made, found)
    server.delete(f"{folder}/a.csv")
    with pytest.raises(SourceChangedError, match="it no longer exists"):
        read(made, found)


# -- what passes -------------------------------------------------------------------------------------------------------


def later(action: Any) -> threading.Timer:
    timer = threading.Timer(1.0, action)
    timer.start()
    return timer


def test_safe_mode_is_waited_for(cluster: HdfsCluster, folder: str) -> None:
    made, committable, _ = staged_file(cluster, folder)
    cluster.admin("-safemode", "enter")
    timer = later(lambda: cluster.admin("-safemode", "leave"))
    commit(made, [committable], place())
    stage(made, SCHEMA, [numbered(2, 1)], place(unit=2))
    timer.join()


@pytest.mark.twin
def test_a_long_safe_mode_is_an_error_that_may_pass(
    cluster: HdfsCluster, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, committable, _ = staged_file(cluster, folder)
    impatient(monkeypatch)
    cluster.admin("-safemode", "enter")
    try:
        with pytest.raises(CommitError, match=r"SafeModeException: .*-safemode leave") as refused:
            commit(made, [committable], place(), may_be_committed=True)
        with pytest.raises(SinkError, match=r"pipeline 1, sink HdfsFile: .*SafeModeException") as staging:
            stage(made, SCHEMA, [numbered(2, 1)], place(unit=2))
    finally:
        cluster.admin("-safemode", "leave")
    assert refused.value.retryable
    assert staging.value.retryable


@pytest.mark.parametrize("which", ["namenode", "datanode"])
def test_a_server_that_comes_back_costs_no_row(cluster: HdfsCluster, server: Files, folder: str, which: str) -> None:
    server.put(f"{folder}/in/a", parquet(ROWS))
    reading = source(cluster, f"{folder}/in")
    found = plan(reading)
    made, committable, _ = staged_file(cluster, f"{folder}/out")
    process = getattr(cluster, which)
    process.kill()
    timer = later(process.start)
    assert read(reading, found) == ROWS
    more = stage(made, SCHEMA, [numbered(2, 1)], place(unit=2))
    commit(made, [committable, more], place(), may_be_committed=True)
    timer.join()
    again = source(cluster, f"{folder}/out", file_format_type="json", schema={"fields": {"id": "bigint"}})
    assert sorted(row["id"] for row in read(again)) == [0, 1, 2]


def test_the_other_namenode_takes_over(tmp_path_factory: pytest.TempPathFactory, folder: str) -> None:
    with HighlyAvailableHdfs(tmp_path_factory.mktemp("ha")) as pair:
        given = {"fs.defaultFS": f"hdfs://{pair.nameservice}", "hdfs_site_path": str(pair.client_site), "path": folder}
        made = HdfsFileSink(options_of(HdfsFileSink, {**given, "file_format_type": "json"}))
        made.prepare(sink_place(place()))
        staged = [stage(made, SCHEMA, [numbered(0, 2)], place())]
        pair.activate(1)
        staged.append(stage(made, SCHEMA, [numbered(2, 2)], place(unit=2)))
        pair.namenodes[1].kill()
        timer = later(lambda: pair.activate(0))
        commit(made, staged, place())
        timer.join()
        reading = {**given, "file_format_type": "json", "schema": {"fields": {"id": "bigint"}}}
        again = HdfsFileSource(options_of(HdfsFileSource, reading))
        assert sorted(row["id"] for row in read(again)) == [0, 1, 2, 3]
        assert again.read_path == f"hdfs://ha{folder}"


# -- what does not -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kerberos_principal": "a@B"}, "option 'kerberos_keytab_path': required with Kerberos"),
        ({"fs.defaultFS": "s3a://bucket"}, "fs.defaultFS is 's3a://bucket', which is not an HDFS cluster"),
        ({"hdfs_site_path": "/absent/hdfs-site.xml"}, "hdfs_site_path is '/absent/hdfs-site.xml', but"),
        ({"path": "hdfs://elsewhere:1/x"}, "option 'path': 'hdfs://elsewhere:1/x' is not a path of hdfs://"),
    ],
)
def test_a_wrong_option_is_named(cluster: HdfsCluster, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        source(cluster, **{"path": "/x", **wrong})


def test_who_may_not_look_or_write_is_answered_with_how(cluster: HdfsCluster, server: Files, folder: str) -> None:
    server.ask("PUT", "MKDIRS", folder, permission="700")
    with pytest.raises(SourceError, match=r"cannot be listed: AccessControlException: .*user=bob.*or set remote_user"):
        source(cluster, f"{folder}/x", remote_user="bob").require_input()
    with pytest.raises(SinkError, match=r"sink HdfsFile: .* cannot be written: AccessControlException: .*user=bob"):
        sink(cluster, f"{folder}/out", remote_user="bob").prepare(sink_place(place()))


def test_a_check_tells_who_may_write_and_leaves_nothing(cluster: HdfsCluster, server: Files, folder: str) -> None:
    server.ask("PUT", "MKDIRS", folder, permission="755")
    assert sink(cluster, f"{folder}/a/b").dry_run(None)[0].endswith("will be created (writable)")
    with pytest.raises(SinkError, match=r"AccessControlException: .*user=bob"):
        sink(cluster, f"{folder}/a/b", remote_user="bob").dry_run(None)
    assert server.contents(folder) == {}


@pytest.mark.parametrize("quota", ["namespacequota", "storagespacequota"])
def test_a_quota_is_reported_before_any_row_moves(cluster: HdfsCluster, folder: str, quota: str) -> None:
    made = sink(cluster, folder)
    made.prepare(sink_place(place()))
    option, most = {"namespacequota": ("-setQuota", "5"), "storagespacequota": ("-setSpaceQuota", "1m")}[quota]
    cluster.admin(option, most, folder)
    name = {"namespacequota": "NSQuotaExceeded", "storagespacequota": "DSQuotaExceeded"}[quota]
    with pytest.raises(
        SinkError, match=rf"cannot be written by a task: {name}Exception: .*dfsadmin {option}"
    ) as raised:
        made.probe(sink_place(place()), "token")
    assert raised.value.retryable, "files may be removed meanwhile, as from a full disk"
