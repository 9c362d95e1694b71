"""Make each mistake of ``kerberos`` in ``mistakes-storages.md`` with a real KDC and HDFS, and compare the message."""

import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_core.clients import kerberos
from seatunnel_storage_api.errors import CheckpointStorageError, StorageUnavailableError
from tests.plugins import page
from tests.servers.kerberos import SecureHdfs, secure_hdfs

pytestmark = [pytest.mark.servers, pytest.mark.twin]

TABLE = page.mistakes("kerberos")
REALM = "TEST.LOCAL"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureHdfs]:
    with secure_hdfs(tmp_path_factory.mktemp("kerberos")) as cluster:
        yield cluster


@frozen
class Scene:
    """Where a mistake is made."""

    cluster: SecureHdfs
    folder: Path

    def open(self, **more: str) -> None:
        HdfsStorageFactory().create({**self.cluster.configuration("/alice/mistakes/"), **more}).close()

    def log_in(self, principal: str, keytab: Path) -> None:
        self.open(**{kerberos.PRINCIPAL: principal, kerberos.KEYTAB: str(keytab)})


Mistake = Callable[[Scene], object]


def _written(**more: str) -> Mistake:
    """The mistake is in the configuration."""
    return lambda scene: scene.open(**more)


def _keytab(change: Callable[[bytes], bytes], principal: str = "alice") -> Mistake:
    """The mistake is in the keytab."""

    def make(scene: Scene) -> None:
        keytab = scene.folder / "changed.keytab"
        keytab.write_bytes(change(scene.cluster.keytab_of_alice.read_bytes()))
        scene.log_in(principal, keytab)

    return make


def _at_the_kdc(words: str) -> Mistake:
    """Something was done to the principal after its keytab had been made."""

    def make(scene: Scene) -> None:
        name = f"somebody-{secrets.token_hex(4)}"
        keytab = scene.folder / "somebody.keytab"
        scene.cluster.kdc.add(name, keytab)
        scene.cluster.kdc.command(f"{words} {name}")
        scene.log_in(f"{name}@{REALM}", keytab)

    return make


def _without_kdc(scene: Scene) -> None:
    scene.cluster.kdc.stop()
    try:
        scene.open()
    finally:
        scene.cluster.kdc.start()


def _clock(scene: Scene) -> None:
    scene.cluster.kdc.set_clock(7_200)
    try:
        scene.open()
    finally:
        scene.cluster.kdc.set_clock(0)


def _ip_address(scene: Scene) -> None:
    scene.open(**{"dfs.namenode.http-address": scene.cluster.http.replace("localhost", "127.0.0.1")})


def _old_key_of_the_namenode(scene: Scene) -> None:
    """The last of all: the NameNode's keytab is useless afterwards."""
    scene.cluster.kdc.command("cpw -randkey HTTP/localhost")
    scene.open()


def _without_packages(scene: Scene) -> None:
    with pytest.MonkeyPatch.context() as patches:
        patches.delitem(sys.modules, "seatunnel_core.clients.kerberos")
        patches.delattr("seatunnel_core.clients.kerberos")
        patches.setitem(sys.modules, "gssapi", None)
        scene.open()


def _other_configuration(scene: Scene) -> None:
    other = scene.folder / "krb5.conf"
    other.write_text("")
    scene.open(krb5_path=str(other))


MISTAKES: dict[str, Mistake] = {
    "no keytab is named": _written(**{kerberos.KEYTAB: ""}),
    "no principal is named": _written(**{kerberos.PRINCIPAL: ""}),
    "neither is named": _written(**{kerberos.PRINCIPAL: "", kerberos.KEYTAB: ""}),
    "the principal cannot be read": _written(**{kerberos.PRINCIPAL: "alice@TEST@LOCAL"}),
    "the keytab is not there": _written(**{kerberos.KEYTAB: "/nowhere/alice.keytab"}),
    "the keytab is a folder": _written(**{kerberos.KEYTAB: "/etc"}),
    "the keytab is no keytab": _keytab(lambda _: b"-----BEGIN PRIVATE KEY-----"),
    "the keytab is cut off": _keytab(lambda whole: whole[:-10]),
    "the keytab holds no key": _keytab(lambda whole: whole[:2]),
    "the keytab belongs to another user": _written(**{kerberos.PRINCIPAL: f"bob@{REALM}"}),
    "the realm is not in krb5.conf": _keytab(
        lambda whole: whole.replace(b"TEST.LOCAL", b"REST.LOCAL"), "alice@REST.LOCAL"
    ),
    "another `krb5_path` than the process has": _other_configuration,
    "no KDC answers": _without_kdc,
    "the KDC does not know the principal": _at_the_kdc("delprinc -force"),
    "the account has ended": _at_the_kdc("modprinc -expire yesterday"),
    "the principal is locked": _at_the_kdc("modprinc -allow_tix"),
    "the key has ended": _at_the_kdc("modprinc -pwexpire yesterday"),
    "the key was changed since": _at_the_kdc("cpw -randkey"),
    "the clocks differ": _clock,
    "an IP address instead of a host name": _ip_address,
    "a proxy user that is not allowed": _written(**{"hadoop.proxy.user": "bob"}),
    "no permission": _written(namespace="/elsewhere/"),
    "the packages are not installed": _without_packages,
    "the NameNode's own keytab is old": _old_key_of_the_namenode,
}


def test_the_page_names_each_of_them() -> None:
    assert len(MISTAKES) >= 12
    assert MISTAKES.keys() == TABLE.keys()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_message_is_what_the_page_says(cluster: SecureHdfs, tmp_path: Path, mistake: str) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        MISTAKES[mistake](Scene(cluster, tmp_path))
    print(f"| {mistake} | `{caught.value}` |")
    assert isinstance(caught.value, StorageUnavailableError) == (mistake == "no KDC answers")
    page.require_told(TABLE[mistake], str(caught.value))
