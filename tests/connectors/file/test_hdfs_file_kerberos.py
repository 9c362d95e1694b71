"""``HdfsFile`` in a cluster that asks for Kerberos tickets; and without one, where the door is shut."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import commit, options_of, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.hdfs import HdfsFileSink, HdfsFileSource
from seatunnel_core.errors import SinkError, SourceError
from tests.servers.kerberos import SecureHdfs, secure_hdfs

pytestmark = [
    pytest.mark.servers,
    pytest.mark.twin,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("hdfs-files-kerberos"),
]

LIFE_S = 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureHdfs]:
    with secure_hdfs(tmp_path_factory.mktemp("kerberos"), life=f"{LIFE_S}s") as cluster:
        assert cluster.without_a_ticket("LISTSTATUS").status_code == 401
        yield cluster


def access(cluster: SecureHdfs, **more: Any) -> dict[str, Any]:
    return {
        "fs.defaultFS": f"hdfs://{cluster.rpc}",
        "dfs.namenode.http-address": cluster.http,
        "kerberos_principal": f"alice@{cluster.kdc.realm}",
        "kerberos_keytab_path": str(cluster.keytab_of_alice),
        **more,
    }


def sink(cluster: SecureHdfs, path: str, **more: Any) -> HdfsFileSink:
    return HdfsFileSink(options_of(HdfsFileSink, {**access(cluster, **more), "path": path, "file_format_type": "json"}))


def ids(cluster: SecureHdfs, path: str) -> list[int]:
    more = {"file_format_type": "json", "schema": {"fields": {"id": "bigint"}}, "krb5_path": cluster.kdc.configuration}
    made = HdfsFileSource(options_of(HdfsFileSource, {**access(cluster), "path": path, **more}))
    return sorted(row["id"] for row in read(made))


def test_files_go_and_come_with_tickets_that_end_meanwhile(cluster: SecureHdfs) -> None:
    made = sink(cluster, "/alice/out")
    made.prepare(sink_place(place()))
    staged = [stage(made, SCHEMA, [numbered(0, 2)], place())]
    made.files._client()._session.cookies.clear()  # type: ignore[attr-defined]  # it would outlive the ticket
    time.sleep(LIFE_S + 2)
    staged.append(stage(made, SCHEMA, [numbered(2, 2)], place(unit=2)))
    commit(made, staged, place())
    assert ids(cluster, "/alice/out") == [0, 1, 2, 3]


def test_without_a_ticket_the_door_is_shut(cluster: SecureHdfs) -> None:
    given = {**access(cluster), "path": "/alice", "file_format_type": "json", "schema": {"fields": {"id": "bigint"}}}
    without = {key: value for key, value in given.items() if not key.startswith("kerberos")}
    with pytest.raises(
        SourceError, match=r"cannot be listed: .*HTTP 401.*set kerberos_principal and kerberos_keytab_path"
    ):
        HdfsFileSource(options_of(HdfsFileSource, {**without, "remote_user": "nn"})).require_input()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kerberos_principal": "bob@TEST.LOCAL"}, r"has no key for bob@TEST\.LOCAL; .* Set kerberos_principal"),
        ({"kerberos_keytab_path": "/absent.keytab"}, r"keytab /absent\.keytab .*cannot be read.*kerberos_keytab_path"),
        ({"krb5_path": "/elsewhere/krb5.conf"}, "krb5_path is /elsewhere/krb5.conf, but this process already uses"),
    ],
)
def test_a_mistake_is_named_before_anything_is_written(cluster: SecureHdfs, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(SinkError, match=says) as raised:
        sink(cluster, "/alice/never", **wrong).prepare(sink_place(place()))
    assert not raised.value.retryable


def test_a_key_that_was_changed_since_is_reported(cluster: SecureHdfs, tmp_path: Path) -> None:
    keytab = tmp_path / "carol.keytab"
    cluster.kdc.add("carol", keytab)
    cluster.kdc.command("cpw -randkey carol")
    principal = f"carol@{cluster.kdc.realm}"
    with pytest.raises(SinkError, match="is not the current key of the principal"):
        sink(cluster, "/alice/x", kerberos_principal=principal, kerberos_keytab_path=str(keytab)).prepare(
            sink_place(place())
        )


def test_another_user_may_not_write(cluster: SecureHdfs, tmp_path: Path) -> None:
    keytab = tmp_path / "dave.keytab"
    cluster.kdc.add("dave", keytab)
    principal = f"dave@{cluster.kdc.realm}"
    with pytest.raises(SinkError, match=r"AccessControlException: Permission denied: user=dave"):
        sink(cluster, "/alice/x", kerberos_principal=principal, kerberos_keytab_path=str(keytab)).prepare(
            sink_place(place())
        )
