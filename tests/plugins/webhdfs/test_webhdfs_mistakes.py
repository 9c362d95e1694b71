"""Make each mistake of ``hdfs`` in ``mistakes-storages.md`` with a real HDFS, and compare the message."""

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hdfs
import pytest
from attrs import frozen
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.webhdfs.storage import WebHdfsStorage

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.plugins import page
from tests.servers.hadoop import HdfsCluster
from tests.servers.process import deaf_port

pytestmark = pytest.mark.servers

TABLE = page.mistakes("hdfs")
WEB = "dfs.namenode.http-address"
HADOOP = "seatunnel.hadoop."


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


@frozen
class Scene:
    """Where a mistake is made."""

    cluster: HdfsCluster
    folder: Path

    @property
    def superuser(self) -> hdfs.InsecureClient:
        return hdfs.InsecureClient(f"http://{self.cluster.http}")

    def open(self, namespace: str = "/mistakes/", **more: str | None) -> WebHdfsStorage:
        written = {**self.cluster.configuration(namespace), **more}
        storage = HdfsStorageFactory().create({key: value for key, value in written.items() if value is not None})
        assert isinstance(storage, WebHdfsStorage)
        storage._backoff = Backoff()  # nobody here waits a minute
        return storage


Mistake = Callable[[Scene], object]


def _written(namespace: str = "/mistakes/", **more: str | None) -> Mistake:
    """The mistake is in the configuration."""
    return lambda scene: scene.open(namespace, **more).close()


def _address(address: str) -> Mistake:
    return _written(**{WEB: None, "fs.defaultFS": address})  # type: ignore[arg-type]


def _site(content: str, address: str = "hdfs://ha") -> Mistake:
    """The mistake is in hdfs-site.xml."""

    def make(scene: Scene) -> None:
        site = scene.folder / "hdfs-site.xml"
        site.write_text(content)
        _written(**{WEB: None, "fs.defaultFS": address, "hdfs_site_path": str(site)})(scene)  # type: ignore[arg-type]

    return make


def _of_nameservice(name: str) -> str:
    return f"<configuration><property><name>dfs.nameservices</name><value>{name}</value></property></configuration>"


def _rpc_port(scene: Scene) -> None:
    scene.open(**{WEB: scene.cluster.rpc})


def _web_server_of_a_datanode(scene: Scene) -> None:
    scene.open(**{WEB: scene.cluster.datanode_http})


def _another_web_server(scene: Scene) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            scene.open(**{WEB: f"127.0.0.1:{server.server_port}"})
        finally:
            server.shutdown()
            thread.join()


def _safe_mode(scene: Scene) -> None:
    scene.cluster.admin("-safemode", "enter")
    try:
        scene.open()
    finally:
        scene.cluster.admin("-safemode", "leave")


def _quota(verb: str, amount: str) -> Mistake:
    def make(scene: Scene) -> None:
        scene.superuser.makedirs("/quota")
        scene.cluster.admin(f"-set{verb}", amount, "/quota")
        try:
            scene.open("/quota/")
        finally:
            scene.cluster.admin(f"-clr{verb}", "/quota")

    return make


def _below_a_file(scene: Scene) -> None:
    scene.superuser.write("/file", data=b"", overwrite=True)
    scene.open("/file/below/")


@contextlib.contextmanager
def _without_datanode(scene: Scene) -> Iterator[None]:
    scene.cluster.datanode.kill()
    try:
        yield
    finally:
        scene.cluster.datanode.start()


def _no_datanode_at_the_start(scene: Scene) -> None:
    with _without_datanode(scene):
        scene.open()


def _no_datanode_at_a_read(scene: Scene) -> None:
    with scene.open("/read/") as storage:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        with _without_datanode(scene):
            storage.get_latest_checkpoint(JOB, 1)


def _no_namenode_at_a_store(scene: Scene) -> None:
    with scene.open("/gone/") as storage:
        epoch = claim(storage)
        scene.cluster.namenode.kill()
        try:
            storage.store_checkpoint(checkpoint(epoch, 1))
        finally:
            scene.cluster.namenode.start()
            scene.cluster.datanode.wait_until_ready()


def _hostile_job(scene: Scene) -> None:
    with scene.open() as storage:
        storage.store_checkpoint(checkpoint(1, 1, job_id="../other"))


MISTAKES: dict[str, Mistake] = {
    "nothing listens there": _written(**{WEB: f"127.0.0.1:{deaf_port()}"}),
    "the host is not known": _address("hdfs://namenode.invalid:8020"),
    "a nameservice without `hdfs_site_path`": _address("hdfs://nameservice.invalid"),
    "`hdfs_site_path` is no file": _written(hdfs_site_path="/nowhere/hdfs-site.xml"),
    "`hdfs_site_path` is no XML": _site("dfs.nameservices=ha"),
    "`hdfs_site_path` is of another cluster": _site(_of_nameservice("other")),
    "a nameservice without addresses": _site(_of_nameservice("ha")),
    "both NameNodes are down": _written(**{WEB: f"127.0.0.1:{deaf_port()};localhost:{deaf_port()}"}),
    "the RPC port as the web server's": _rpc_port,
    "a DataNode as the NameNode": _web_server_of_a_datanode,
    "another web server": _another_web_server,
    "https where there is http": lambda scene: scene.open(**{WEB: f"https://{scene.cluster.http}"}),
    "an invalid address": _written(**{WEB: "namenode:http"}),
    "another file system": _address("viewfs://cluster"),
    "a folder in the address": _address("hdfs://namenode:8020/seatunnel"),
    "safe mode": _safe_mode,
    "no permission": _written("/elsewhere/", **{"hadoop.user.name": "nobody"}),
    "a proxy user that is not allowed": _written(**{"hadoop.proxy.user": "bob"}),
    "the quota of space is used up": _quota("SpaceQuota", "1000"),
    "the quota of names is used up": _quota("Quota", "1"),
    "the namespace is below a file": _below_a_file,
    "a colon in the namespace": _written("/a:b/"),
    "the namespace has no slash at its end": _written("/mistakes"),
    "an invalid replication": _written(**{f"{HADOOP}dfs.replication": "0"}),
    "a job id that would leave the namespace": _hostile_job,
    "no DataNode at the start": _no_datanode_at_the_start,
    "no DataNode while a checkpoint is read": _no_datanode_at_a_read,
    "no NameNode while a checkpoint is stored": _no_namenode_at_a_store,
}


def test_the_page_names_each_of_them() -> None:
    assert len(MISTAKES) >= 12
    assert MISTAKES.keys() <= TABLE.keys()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_is_what_the_page_says(cluster: HdfsCluster, tmp_path: Path, mistake: str) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        MISTAKES[mistake](Scene(cluster, tmp_path))
    print(f"| {mistake} | `{caught.value}` |")
    page.require_told(TABLE[mistake], str(caught.value))
