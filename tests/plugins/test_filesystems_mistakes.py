"""Make each mistake of ``fsspec`` in ``mistakes-storages.md`` with real servers, and compare the message."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.testing.given import checkpoint
from tests.plugins import page
from tests.servers.objects.azurite import KEY, Azurite
from tests.servers.objects.fake_gcs import FakeGcs
from tests.servers.process import deaf_port, unavailable
from tests.servers.sshd import Sshd

TABLE = page.mistakes("fsspec")
FACTORY = HdfsStorageFactory()
ALONE = {"single-writer": "true"}


def _written(kind: str, namespace: str = "/mistakes/", **more: str) -> Callable[[], None]:
    """The mistake is in the configuration."""
    return lambda: FACTORY.create({"storage.type": kind, "namespace": namespace, **more}).close()


def _hostile_job() -> None:
    with FACTORY.create({"storage.type": "memory", "namespace": "/mistakes/", **ALONE}) as storage:
        storage.store_checkpoint(checkpoint(1, 1, job_id=".."))


FTP = {"fs.ftp.host": "127.0.0.1", "fs.ftp.port": str(deaf_port()), **ALONE}
FILES = {"fs.dir.target_protocol": "file", **ALONE}
MISTAKES: dict[str, Callable[[], None]] = {
    "an unknown type": _written("tape"),
    "S3 by its Hadoop name": _written("s3a"),
    "HDFS by another client": _written("webhdfs"),
    "local files by fsspec's name": _written("file"),
    "a package is missing": _written("smb"),
    "no promise, and not said to be alone": _written("memory"),
    "`single-writer` is neither true nor false": _written("memory", **{"single-writer": "yes"}),
    "an option is missing": _written("github", **ALONE),
    "nothing listens there": _written("ftp", **FTP),
    "the host is not known": _written("ftp", **{**FTP, "fs.ftp.host": "ftp.invalid"}),
    "a folder that cannot be made": _written("dir", **{**FILES, "fs.dir.path": "/proc"}),
    "the namespace has no slash at its end": _written("memory", "/mistakes", **ALONE),
    "a job id that would leave the namespace": _hostile_job,
}


def _azure(folder: Path, key: str = KEY) -> None:
    server = Azurite(folder)
    server.process.start()
    try:
        connection_string = server.connection_string.replace(KEY, key)
        _written("abfs", "/absent/", **{"fs.abfs.connection_string": connection_string})()
    finally:
        server.process.kill()


def _google(folder: Path) -> None:
    server = FakeGcs(folder)
    server.process.start()
    try:
        _written("gs", "/absent/", **{"fs.gs.endpoint_url": server.endpoint, "fs.gs.token": "anon"})()
    finally:
        server.process.kill()


def _sftp(folder: Path, namespace: str, **more: str) -> None:
    server = Sshd(folder)
    server.process.start()
    try:
        FACTORY.create({**server.configuration(namespace), **more}).close()
    finally:
        server.process.kill()


def _sftp_with_a_strange_key(folder: Path) -> None:
    (folder / "strange").mkdir()
    stranger = Sshd(folder / "strange")
    agent = {"fs.sftp.allow_agent": "false", "fs.sftp.look_for_keys": "false"}
    _sftp(folder, f"{folder}/", **{"fs.sftp.key_filename": str(stranger.folder / "user_key"), **agent})


ON_SERVERS: dict[str, Callable[[Path], None]] = {
    "the Azure container does not exist": _azure,
    "the Azure account key is wrong": lambda folder: _azure(folder, "A" * 86 + "=="),
    "the Google bucket does not exist": _google,
    "the SSH key is not the server's": _sftp_with_a_strange_key,
    "the host key of the SSH server is not known": lambda folder: _sftp(
        folder, f"{folder}/", **{"fs.sftp.host_key_policy": "reject"}
    ),
    "a folder of the SSH server that cannot be written": lambda folder: _sftp(folder, "/proc/seatunnel/"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # ftplib leaves the socket of a refused connection
def test_a_mistake_is_answered_as_the_page_says(mistake: str) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        MISTAKES[mistake]()
    page.require_told(TABLE.get(mistake, "nothing"), str(caught.value))


@pytest.mark.servers
@pytest.mark.twin
@pytest.mark.parametrize("mistake", ON_SERVERS)
def test_a_mistake_on_a_server_is_answered_as_the_page_says(mistake: str, tmp_path: Path) -> None:
    for package in ("adlfs", "gcsfs", "paramiko"):
        if importlib.util.find_spec(package) is None:
            unavailable(f"{package} is not installed: pip install {package}")
    with pytest.raises(CheckpointStorageError) as caught:
        ON_SERVERS[mistake](tmp_path)
    page.require_told(TABLE.get(mistake, "nothing"), str(caught.value))


def test_every_mistake_of_the_page_is_made() -> None:
    assert {*MISTAKES, *ON_SERVERS} == TABLE.keys()
