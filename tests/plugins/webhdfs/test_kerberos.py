"""Checkpoints in an HDFS that asks for Kerberos tickets, for longer than a ticket lives."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_core.clients import kerberos
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import at_once, checkpoint, claim, refs
from tests.figures import Figure
from tests.servers.kerberos import SecureHdfs, secure_hdfs

pytestmark = [pytest.mark.servers, pytest.mark.twin, pytest.mark.timeout(400)]

LIFE_S = 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureHdfs]:
    with secure_hdfs(tmp_path_factory.mktemp("kerberos"), life=f"{LIFE_S}s") as cluster:
        yield cluster


@pytest.fixture
def storage(cluster: SecureHdfs, tmp_path: Path) -> Iterator[CheckpointStorage]:
    with HdfsStorageFactory().create(cluster.configuration(f"/alice/{tmp_path.name}/")) as storage:
        yield storage


@pytest.mark.parametrize("operation", ["LISTSTATUS", "OPEN", "GETDELEGATIONTOKEN"])
def test_without_a_ticket_nothing_is_answered(cluster: SecureHdfs, operation: str) -> None:
    assert cluster.without_a_ticket(operation).status_code == 401


def test_without_a_principal_the_door_is_shut(cluster: SecureHdfs) -> None:
    configuration = {**cluster.configuration("/alice/none/"), kerberos.PRINCIPAL: "", kerberos.KEYTAB: ""}
    with pytest.raises(StorageAccessError, match=kerberos.PRINCIPAL):
        HdfsStorageFactory().create(configuration)


def test_one_storage_over_five_lifetimes_of_its_ticket(
    cluster: SecureHdfs, storage: CheckpointStorage, figure: Figure
) -> None:
    """Without the NameNode's cookies, which would hide that a ticket has ended."""
    session = storage._webhdfs._session  # type: ignore[attr-defined]
    epoch, number = claim(storage), 0
    started = time.monotonic()
    while time.monotonic() - started < 5 * LIFE_S + 5:
        number += 1
        session.cookies.clear()
        storage.store_checkpoint(checkpoint(epoch, number))
        session.cookies.clear()
        assert refs(storage)[-1] == (epoch, number)
    seconds = time.monotonic() - started
    figure(f"Kerberos: {number} checkpoints in {seconds:.0f} s with tickets of {LIFE_S} s, none refused")


def test_a_ticket_outlives_its_kdc(cluster: SecureHdfs, storage: CheckpointStorage) -> None:
    """While it is valid, nobody has to be asked, whatever the cookies say."""
    epoch = claim(storage)
    cluster.kdc.stop()
    try:
        storage._webhdfs._session.cookies.clear()  # type: ignore[attr-defined]
        storage.store_checkpoint(checkpoint(epoch, 1))
    finally:
        cluster.kdc.start()


def test_many_threads_share_a_session(storage: CheckpointStorage) -> None:
    """Each request renews a ticket of so short a life, and each does so alone."""
    epochs = [claim(storage, pipeline_id=number) for number in range(1, 9)]
    storing = [
        lambda number=number, epoch=epoch: [
            storage.store_checkpoint(checkpoint(epoch, each, pipeline_id=number)) for each in range(5)
        ]
        for number, epoch in enumerate(epochs, 1)
    ]
    assert at_once(*storing) == [[None] * 5] * 8
