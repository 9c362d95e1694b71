"""Make each mistake of ``local`` in ``mistakes-storages.md`` on real file systems, and compare the message.

A file system without hard links is not to be had everywhere: there, the system's call is made to answer as it would.
"""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim
from tests.plugins import page

TABLE = page.mistakes("local")
FACTORY = HdfsStorageFactory()

_STORES = """
import resource, sys
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.state import CheckpointType, PipelineState
namespace, *limit = sys.argv[1:]
try:
    with HdfsStorageFactory().create({"namespace": namespace}) as storage:
        state = PipelineState(
            job_id="job", pipeline_id=1, epoch=storage.acquire_epoch("job", 1, 1), checkpoint_id=1,
            checkpoint_type=CheckpointType.CHECKPOINT, states=bytes(100_000), base=None,
        )
        if limit:
            kind, most = getattr(resource, limit[0]), int(limit[1])
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))
        storage.list_checkpoints("job", 1)
        storage.store_checkpoint(state)
except CheckpointStorageError as error:
    print(error, end="")
"""
"""Stores a checkpoint in a process of its own, whose file systems and limits are nobody else's."""


class ToldError(CheckpointStorageError):
    """What another process was told."""


def _written(**more: str) -> Callable[[Path], None]:
    """The mistake is in the configuration; ``HERE`` stands for a folder of the test."""

    def make(folder: Path) -> None:
        (folder / "file").write_text("")
        keys = {"namespace": "HERE/", **{name.replace("_", "."): text for name, text in more.items()}}
        FACTORY.create({name: text.replace("HERE", str(folder)) for name, text in keys.items()}).close()

    return make


def _working(action: Callable[[CheckpointStorage, Path], object]) -> Callable[[Path], None]:
    """The mistake happens while the storage is used."""

    def make(folder: Path) -> None:
        with FACTORY.create({"namespace": f"{folder}/"}) as storage:
            action(storage, folder)

    return make


def _on_a_file_system(options: str) -> Callable[[Path], None]:
    """A file system of its own, in another process, which needs no rights where user namespaces are allowed."""

    def make(folder: Path) -> None:
        script = f'mount -t tmpfs -o {options} tmpfs "$1" || exit 77; shift; exec "$@"'
        outcome = _store(["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(folder)], f"{folder}/")
        if outcome.returncode in (1, 77) and not outcome.stdout:
            pytest.skip(f"no file system can be mounted for a test here: {outcome.stderr.strip()[:200]}")
        raise ToldError(outcome.stdout or outcome.stderr)

    return make


def _with_a_limit(kind: str, most: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        outcome = _store([], f"{folder}/", kind, str(most))
        raise ToldError(outcome.stdout or outcome.stderr)

    return make


def _store(wrapper: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*wrapper, sys.executable, "-c", _STORES, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )


def _without_hard_links(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patches:

        def refuse(source: str, target: str) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), source)

        patches.setattr(os, "link", refuse)
        FACTORY.create({"namespace": f"{folder}/"})


def _replaced_by_a_file(storage: CheckpointStorage, folder: Path) -> None:
    epoch = claim(storage)
    shutil.rmtree(folder / JOB)
    (folder / JOB).write_text("")
    storage.store_checkpoint(checkpoint(epoch, 1))


def _damaged(storage: CheckpointStorage, folder: Path) -> None:
    storage.store_checkpoint(checkpoint(claim(storage), 1, bytes(1_000)))
    (path,) = folder.rglob("*.ckpt")
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    storage.get_latest_checkpoint(JOB, 1)


def _foreign(storage: CheckpointStorage, folder: Path) -> None:
    storage.store_checkpoint(checkpoint(claim(storage), 1))
    (path,) = folder.rglob("*.ckpt")
    path.with_name("copy of a checkpoint.ckpt").write_bytes(path.read_bytes())
    storage.list_checkpoints(JOB, 1)


def _two_engines(storage: CheckpointStorage, folder: Path) -> None:
    first = claim(storage)
    claim(storage)
    storage.store_checkpoint(checkpoint(first, 1))


MISTAKES: dict[str, Callable[[Path], None]] = {
    "the namespace has no slash at its end": _written(namespace="HERE"),
    "the namespace is not absolute": _written(namespace="checkpoint/"),
    "the namespace climbs up": _written(namespace="HERE/../other/"),
    "the namespace is in a file": _written(namespace="HERE/file/below/"),
    "the namespace cannot be made": _written(namespace="/proc/seatunnel/"),
    "a name in the namespace is too long": _written(namespace=f"HERE/{'n' * 256}/"),
    "local files with the address of a cluster": _written(fs_defaultFS="hdfs://localhost:9000"),
    "HDFS without an address": _written(storage_type="hdfs"),
    "`max-retained` is no number": _written(**{"max-retained": "three"}),
    "the file system is read-only": _on_a_file_system("ro"),
    "the disk is full": _on_a_file_system("size=64k"),
    "the file system has no hard links": _without_hard_links,
    "a file may not become so large": _with_a_limit("RLIMIT_FSIZE", 50_000),
    "too many files are open": _with_a_limit("RLIMIT_NOFILE", 0),
    "the job's folder became a file": _working(_replaced_by_a_file),
    "a checkpoint is damaged": _working(_damaged),
    "a user put a copy beside a checkpoint": _working(_foreign),
    "a second engine runs the job": _working(_two_engines),
    "a job id that would leave the namespace": _working(
        lambda storage, folder: storage.store_checkpoint(checkpoint(1, 1, job_id="../../etc"))
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_as_the_page_says(mistake: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointStorageError) as caught:
        MISTAKES[mistake](tmp_path)
    page.require_told(TABLE.get(mistake, "nothing"), str(caught.value))


def test_every_mistake_of_the_page_is_made() -> None:
    assert MISTAKES.keys() == TABLE.keys()
