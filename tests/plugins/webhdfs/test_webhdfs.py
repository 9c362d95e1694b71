"""What the storage on HDFS does beyond the kit: its requests on the wire, races, and answers that got lost."""

import collections
import contextlib
import functools
import re
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import hdfs
import pytest
import requests
from requests.adapters import HTTPAdapter
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.webhdfs.storage import WebHdfsStorage

from seatunnel_storage_api.errors import CheckpointConflictError
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.testing.given import JOB, at_once, checkpoint, claim, refs
from tests.servers.hadoop import HdfsCluster

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    # localhost: redirects then name a DataNode, as in most clusters, and do not hold its address.
    bind = {"dfs.namenode.rpc-bind-host": "0.0.0.0"}
    with HdfsCluster(tmp_path_factory.mktemp("hdfs"), host="localhost", hdfs_site=bind) as cluster:
        yield cluster


@pytest.fixture
def namespace() -> str:
    return f"/{secrets.token_hex(8)}/"


def open_storage(cluster: HdfsCluster, namespace: str, **more: str) -> WebHdfsStorage:
    storage = HdfsStorageFactory().create({**cluster.configuration(namespace), **more})
    assert isinstance(storage, WebHdfsStorage)
    return storage


@pytest.fixture
def storage(cluster: HdfsCluster, namespace: str) -> Iterator[WebHdfsStorage]:
    with open_storage(cluster, namespace) as storage:
        yield storage


@contextlib.contextmanager
def wire(cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every HTTP request that leaves, as ``CREATE namenode``."""
    seen: list[str] = []
    send = HTTPAdapter.send

    def sending(self: HTTPAdapter, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        url = urlsplit(str(request.url))
        who = {cluster.http: "namenode", cluster.datanode_http: "datanode"}.get(url.netloc, "another")
        seen.append(f"{parse_qs(url.query)['op'][0]} {who}")
        return send(self, request, **more)

    with monkeypatch.context() as patches:
        patches.setattr(HTTPAdapter, "send", sending)
        yield seen


PUT = ["CREATE namenode", "CREATE datanode", "RENAME namenode"]
LIST = ["LISTSTATUS namenode"]
READ = ["OPEN namenode", "OPEN datanode"]


def test_a_store_is_four_requests_and_one_for_each_that_is_pruned(
    cluster: HdfsCluster, storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = claim(storage)
    for number in (1, 2, 3):
        with wire(cluster, monkeypatch) as seen:
            storage.store_checkpoint(checkpoint(epoch, number))
        assert seen == PUT + LIST
    with wire(cluster, monkeypatch) as seen:
        storage.store_checkpoint(checkpoint(epoch, 4))
    assert seen == [*PUT, *LIST, "DELETE namenode"]


def test_reading_the_latest_is_one_listing_and_one_payload(
    cluster: HdfsCluster, storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a folder has a single entry, about which the package's own ``list`` asks a second time."""
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    with wire(cluster, monkeypatch) as seen:
        storage.get_latest_checkpoint(JOB, 1)
    assert seen == LIST + READ
    with wire(cluster, monkeypatch) as seen:
        storage.newest_epoch(JOB, 1)
        storage.list_checkpoints("never-seen", 1)
    assert seen == LIST + LIST


def test_the_bytes_are_synced_before_the_name_is_there(
    cluster: HdfsCluster, storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``strace`` shows of a DataNode: an fsync with this flag, none without."""
    send, urls = HTTPAdapter.send, []

    def sending(self: HTTPAdapter, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        urls.append(str(request.url))
        return send(self, request, **more)

    with monkeypatch.context() as patches:
        patches.setattr(HTTPAdapter, "send", sending)
        storage.put_manifest(JOB, 1, b"")
    create, redirected, rename = [parse_qs(urlsplit(url).query) for url in urls[:3]]
    assert (create["createflag"], create["overwrite"]) == (["CREATE,SYNC_BLOCK"], ["False"])
    assert (redirected["createflag"], redirected["overwrite"]) == (["CREATE%2CSYNC_BLOCK"], ["false"])
    assert rename["renameoptions"] == ["NONE"]


@pytest.mark.twin
def test_of_sixteen_rivals_for_one_id_one_wins_a_hundred_times(cluster: HdfsCluster, namespace: str) -> None:
    with contextlib.ExitStack() as opened:
        rivals = [opened.enter_context(open_storage(cluster, namespace)) for _ in range(16)]
        epoch = claim(rivals[0])
        for number in range(100):
            states = [checkpoint(epoch, number, b"rival %d" % each) for each in range(16)]
            stores = [functools.partial(r.store_checkpoint, s) for r, s in zip(rivals, states, strict=True)]
            outcomes = at_once(*stores)
            assert outcomes.count(None) == 1, outcomes
            assert sum(isinstance(each, CheckpointConflictError) for each in outcomes) == 15, outcomes
            assert rivals[0].get_checkpoint(JOB, 1, number) == states[outcomes.index(None)]
        assert unfinished(cluster, namespace) == []


def unfinished(cluster: HdfsCluster, namespace: str) -> list[str]:
    names: list[str] = hdfs.InsecureClient(f"http://{cluster.http}").list(f"{namespace}{JOB}/000001/.tmp")
    return names


@contextlib.contextmanager
def losing_the_answer(operation: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[collections.Counter[str]]:
    """The first answer to an operation is lost after the server has done it."""
    send = HTTPAdapter.send
    lost: collections.Counter[str] = collections.Counter()

    def sending(self: HTTPAdapter, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        answer = send(self, request, **more)
        if f"op={operation}&" in f"{request.url}&" and not lost[operation] and answer.status_code < 300:
            lost[operation] += 1
            answer.close()
            raise requests.ConnectionError("cut", request=request)
        return answer

    with monkeypatch.context() as patches:
        patches.setattr(HTTPAdapter, "send", sending)
        yield lost


@pytest.mark.parametrize("operation", ["CREATE", "RENAME", "LISTSTATUS", "DELETE", "OPEN"])
def test_a_request_that_is_repeated_meets_its_own_success(
    storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    epoch = claim(storage)
    for number in (1, 2, 3):
        storage.store_checkpoint(checkpoint(epoch, number))
    with losing_the_answer(operation, monkeypatch) as lost:
        storage.store_checkpoint(checkpoint(epoch, 4, b"four"))
        latest = storage.get_latest_checkpoint(JOB, 1)
    assert lost[operation] == 1
    assert latest is not None
    assert latest.states == b"four"
    assert refs(storage) == [(epoch, 2), (epoch, 3), (epoch, 4)]


def test_a_claim_whose_answer_was_lost_is_still_ours(storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    with losing_the_answer("RENAME", monkeypatch):
        assert claim(storage) == 1
    with losing_the_answer("RENAME", monkeypatch):
        storage.put_manifest(JOB, 1, b"ours")


def test_what_a_dead_writer_left_is_swept_by_the_next_engine(
    cluster: HdfsCluster, storage: WebHdfsStorage, namespace: str
) -> None:
    client = hdfs.InsecureClient(f"http://{cluster.http}")
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    for name in ("0000000001-00000000000000000002.checkpoint.base-none.ckpt.ab", "0000000009.epoch.ab"):
        client.write(f"{namespace}{JOB}/000001/.tmp/{name}", data=b"half")
    assert refs(storage) == [(epoch, 1)]
    assert [blob.size_bytes for blob in storage.unfinished("")] == [4, 4]
    claim(storage)
    assert unfinished(cluster, namespace) == ["0000000009.epoch.ab"]
    assert [blob.key for blob in storage.unfinished(f"{JOB}/")] == [f"{JOB}/000001/.tmp/0000000009.epoch.ab"]


def test_a_writer_whose_unfinished_file_was_swept_begins_again(
    storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = claim(storage)
    rename = storage._webhdfs.rename
    swept: list[Any] = []

    def sweep_once(source: str, target: str) -> bool:
        if not swept:
            swept.append(source)
            storage._webhdfs.delete(source)
        return rename(source, target)

    monkeypatch.setattr(storage._webhdfs, "rename", sweep_once)
    storage.store_checkpoint(checkpoint(epoch, 1))
    assert swept
    assert refs(storage) == [(epoch, 1)]


def test_a_lost_datanode_is_left_out_before_the_namenode_knows(
    cluster: HdfsCluster, storage: WebHdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The NameNode sends a client to the DataNode on its own machine, and believes for ten minutes that it lives."""
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    other = cluster.another_datanode()
    other.start()
    cluster.datanode.kill()
    try:
        storage.store_checkpoint(checkpoint(epoch, 2))
        with wire(cluster, monkeypatch) as seen:
            storage.store_checkpoint(checkpoint(epoch, 3))
        assert seen == ["CREATE namenode", "CREATE another", "RENAME namenode", *LIST]
        latest = storage.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.ref == CheckpointRef(epoch, 3)
    finally:
        cluster.datanode.start()
        other.kill()


def test_no_marker_in_a_path_is_expanded(cluster: HdfsCluster, namespace: str) -> None:
    """The package's client would put the name of the newest file in place of ``#LATEST``, and write over it."""
    odd = f"{namespace}a b/#LATEST/+%20ü&c=d/"
    with open_storage(cluster, odd) as storage:
        storage.put_manifest(JOB, 1, b"odd")
        assert storage.list_jobs() == (JOB,)
    status = hdfs.InsecureClient(f"http://{cluster.http}")._list_status(f"{namespace}a b").json()
    assert [each["pathSuffix"] for each in status["FileStatuses"]["FileStatus"]] == ["#LATEST"]


def test_files_are_as_the_configuration_wants_them(cluster: HdfsCluster, namespace: str) -> None:
    more = {"seatunnel.hadoop.dfs.blocksize": "1048576", "seatunnel.hadoop.dfs.replication": "1"}
    with open_storage(cluster, namespace, **more, **{"hadoop.user.name": "root"}) as storage:
        storage.put_manifest(JOB, 1, b"small")
    client = hdfs.InsecureClient(f"http://{cluster.http}")
    status = client.status(f"{namespace}{JOB}/manifest/0000000001.manifest")
    assert (status["blockSize"], status["replication"], status["owner"]) == (1048576, 1, "root")


def test_the_names_of_users(cluster: HdfsCluster, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key, then Hadoop's environment variable, then the operating system's user."""
    hdfs.InsecureClient(f"http://{cluster.http}").makedirs(namespace, permission="777")

    def owner(below: str, **more: str) -> str:
        with open_storage(cluster, f"{namespace}{below}/", **more) as storage:
            storage.put_manifest(JOB, 1, b"")
        entries = hdfs.InsecureClient(f"http://{cluster.http}").list(namespace, status=True)
        return str(dict(entries)[below]["owner"])

    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    assert owner("key", **{"hadoop.user.name": "alice"}) == "alice"
    assert owner("environment") == "bob"


def test_no_secret_of_a_redirect_is_shown(storage: WebHdfsStorage, caplog: pytest.LogCaptureFixture) -> None:
    """The URL of a DataNode holds a token on a secure cluster; here a parameter of the session stands for it."""
    storage._webhdfs._session.params["delegation-canary"] = "canary"
    storage._webhdfs._namenodes._urls[0] = "http://localhost:1"
    storage._backoff = storage._backoff.__class__(attempts=1)
    with pytest.raises(Exception, match="localhost:1") as caught:
        storage.list_jobs()
    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in f"{error}{error!r}"
        error = error.__cause__
    assert not re.search("canary", caplog.text)


def test_who_only_looks_makes_no_folder(cluster: HdfsCluster, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with wire(cluster, monkeypatch) as requests, open_storage(cluster, namespace, **{"read-only": "true"}) as storage:
        assert storage.list_jobs() == ()
    assert {request.split()[0] for request in requests} == {"LISTSTATUS"}
