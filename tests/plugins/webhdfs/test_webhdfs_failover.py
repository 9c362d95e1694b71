"""Two NameNodes of which one is active: every promise holds, and a change in the middle of stores loses nothing."""

import secrets
import threading
from collections.abc import Callable, Iterator
from functools import partial

import hdfs
import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing import Backdoor, CheckpointStorageConformance
from seatunnel_storage_api.testing.given import JOB, at_once, checkpoint, claim
from tests.figures import Figure
from tests.plugins import page
from tests.plugins.webhdfs.test_webhdfs_conformance import HdfsBackdoor
from tests.servers.hadoop import HADOOP_VERSION, HighlyAvailableHdfs

pytestmark = [pytest.mark.servers, pytest.mark.timeout(400)]

WRITERS = 8
STORES_AFTERWARDS = 5


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HighlyAvailableHdfs]:
    with HighlyAvailableHdfs(tmp_path_factory.mktemp("hdfs")) as pair:
        yield pair


def by_file(pair: HighlyAvailableHdfs) -> dict[str, str]:
    return pair.configuration("/")


def by_folder(pair: HighlyAvailableHdfs) -> dict[str, str]:
    return {**pair.configuration("/"), "hdfs_site_path": str(pair.client_site.parent)}


def by_keys(pair: HighlyAvailableHdfs) -> dict[str, str]:
    keys = {"dfs.nameservices": pair.nameservice, f"dfs.ha.namenodes.{pair.nameservice}": "nn1,nn2"}
    for name, address in zip(("nn1", "nn2"), pair.http, strict=True):
        keys[f"dfs.namenode.http-address.{pair.nameservice}.{name}"] = address
    prefixed = {f"seatunnel.hadoop.{key}": value for key, value in keys.items()}
    return {"storage.type": "hdfs", "fs.defaultFS": f"hdfs://{pair.nameservice}", **prefixed}


def by_addresses(pair: HighlyAvailableHdfs) -> dict[str, str]:
    web = {"dfs.namenode.http-address": ";".join(pair.http)}
    return {"storage.type": "hdfs", "fs.defaultFS": f"hdfs://{';'.join(pair.rpc)}", **web}


FORMS = (by_file, by_folder, by_keys, by_addresses)


def test_no_active_namenode_is_reported_at_the_start(pair: HighlyAvailableHdfs) -> None:
    pair.stand_by(0)
    try:
        with pytest.raises(StorageUnavailableError) as caught:
            HdfsStorageFactory().create(pair.configuration("/nobody/"))
    finally:
        pair.activate(0)
    page.require_told(page.mistakes("hdfs")["no NameNode is active"], str(caught.value))


def switch(pair: HighlyAvailableHdfs) -> None:
    pair.activate(1)


def kill(pair: HighlyAvailableHdfs) -> None:
    pair.namenodes[1].kill()
    pair.activate(0)


def come_back(pair: HighlyAvailableHdfs) -> None:
    pair.namenodes[1].restart()
    pair.activate(1)


@pytest.mark.parametrize("change", [switch, kill, come_back])
def test_a_failover_amid_stores_loses_nothing(
    pair: HighlyAvailableHdfs, change: Callable[[HighlyAvailableHdfs], None], figure: Figure
) -> None:
    """Every writer goes on without an error of its own; what it was told of is there; of the rest at most one store."""
    namespace = f"/{change.__name__}/"
    changed = threading.Event()
    running = threading.Barrier(WRITERS + 1)

    def write(number: int) -> int:
        form = FORMS[number % len(FORMS)](pair)
        with HdfsStorageFactory().create({**form, "namespace": namespace, "max-retained": "1000000"}) as storage:
            epoch = claim(storage, pipeline_id=number + 1)
            running.wait()
            stored, left = 0, STORES_AFTERWARDS
            while left:
                left -= changed.is_set()
                states = b"%d" % stored * 1_000
                storage.store_checkpoint(checkpoint(epoch, stored, states, pipeline_id=number + 1))
                stored += 1
        return stored

    def fail_over() -> int:
        running.wait()
        try:
            change(pair)
        finally:
            changed.set()
        return 0

    *said, _ = at_once(*(partial(write, number) for number in range(WRITERS)), fail_over)
    with HdfsStorageFactory().create({**by_file(pair), "namespace": namespace}) as storage:
        for number, count in enumerate(said):
            assert isinstance(count, int), count
            states = [state.states for state in storage.get_all_checkpoints(JOB, number + 1)]
            assert states == [b"%d" % each * 1_000 for each in range(count)]
    stores = sum(count for count in said if isinstance(count, int))
    figure(f"{change.__name__}: {stores} stores by {WRITERS} writers, none lost or doubled")


@pytest.mark.twin
class TestHdfsHighlyAvailable(CheckpointStorageConformance):
    """The second NameNode is active, so that whoever begins asks a standby first."""

    backend = "HDFS, two NameNodes"
    backend_version = f"Hadoop {HADOOP_VERSION}, hdfs {hdfs.__version__}"
    model_examples = 1

    @pytest.fixture
    def factory(self) -> CheckpointStorageFactory:
        return load_factory("hdfs")

    @pytest.fixture
    def configuration(self, pair: HighlyAvailableHdfs) -> dict[str, str]:
        return pair.configuration(f"/{secrets.token_hex(8)}/")

    @pytest.fixture
    def backdoor(self, pair: HighlyAvailableHdfs, configuration: dict[str, str]) -> Backdoor:
        urls = ";".join(f"http://{http}" for http in reversed(pair.http))
        return HdfsBackdoor(urls, configuration["namespace"].rstrip("/"))
