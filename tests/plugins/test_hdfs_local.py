"""What the backend on local files does beyond the kit: its configuration, its system calls, its file systems."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import seatunnel_storage_hdfs.local
from seatunnel_storage_hdfs import local
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.local import LocalFileStorage, network_file_system

from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim, refs
from tests.plugins.system_calls import recorded

FACTORY = HdfsStorageFactory()


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[CheckpointStorage]:
    with FACTORY.create({"namespace": f"{tmp_path}/"}) as storage:
        yield storage


@pytest.fixture
def drafting(storage: CheckpointStorage) -> CheckpointStorage:
    """As on a file system that knows no files without a name."""
    assert isinstance(storage, LocalFileStorage)
    storage.has_nameless_files = False
    return storage


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"storage.type": "local"},
        {"storage.type": "LOCAL", "fs.defaultFS": "file:///"},
        {"storage.type": "hdfs", "fs.defaultFS": "file:///"},
    ],
)
def test_what_means_local_files(tmp_path: Path, more: dict[str, str]) -> None:
    with FACTORY.create({"namespace": f"{tmp_path}/new/folder/", **more}) as storage:
        storage.put_manifest(JOB, 1, b"")
    assert (tmp_path / "new/folder" / JOB).is_dir()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"storage.type": "tape", "s3.bucket": "b"}, "tape is not supported"),
        ({"storage.type": "hdfs"}, "fs.defaultFS is missing"),
        ({"fs.defaultFS": "hdfs://localhost:9000"}, "storage.type is local, but"),
    ],
)
def test_what_is_refused_says_what_to_write(tmp_path: Path, more: dict[str, str], says: str) -> None:
    with pytest.raises(StorageConfigurationError, match=says) as caught:
        FACTORY.create({"namespace": f"{tmp_path}/never/", **more})
    assert "file:///" in str(caught.value)
    assert not (tmp_path / "never").exists()


def test_keys_without_effect_are_named_without_their_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = ["K1", "kerberosPrincipal", "fs.s3a.secret.key", "seatunnel.hadoop.dfs.replication"]
    FACTORY.create({"namespace": f"{tmp_path}/", **dict.fromkeys(keys, "hidden")}).close()
    assert len(caplog.records) == 4
    assert all(key in caplog.text for key in keys)
    assert "hidden" not in caplog.text


def test_a_place_that_cannot_be_written_fails_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for namespace in (f"{tmp_path}/file/", f"{tmp_path}/file/below/", "/proc/seatunnel/"):
        with pytest.raises(StorageAccessError, match="namespace") as caught:
            FACTORY.create({"namespace": namespace})
        assert namespace in str(caught.value)


@pytest.mark.parametrize("call", ["open", "link", "fsync"])
def test_the_start_does_what_every_put_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def refuse(*arguments: object, **more: object) -> int:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patches:
        patches.setattr(os, call, refuse)
        with pytest.raises(StorageAccessError, match="hard links"):
            FACTORY.create({"namespace": f"{tmp_path}/"})
    assert list(tmp_path.iterdir()) == []


def test_a_network_file_system_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seatunnel_storage_hdfs.local, "network_file_system", lambda namespace: "nfs4")
    FACTORY.create({"namespace": f"{tmp_path}/"}).close()
    assert "nfs4" in caplog.text
    assert "fencing off" in caplog.text


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/nowhere/at/all", None),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/a/b", "nfs4"),
        ("/mnt/shared", None),
        ("/mnt/share/disk/a", None),
        ("/mnt/with blank/a", "cifs"),
    ],
)
def test_the_nearest_mount_decides(tmp_path: Path, folder: str, kind: str | None) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "35 21 0:30 / /mnt/share rw - nfs4 server:/export rw\n"
        "36 35 8:2 / /mnt/share/disk rw shared:7 master:2 - xfs /dev/sdb1 rw\n"
        "37 21 0:31 / /mnt/with\\040blank rw - cifs //server/share rw\n"
    )
    assert network_file_system(folder, str(mounts)) == kind
    assert network_file_system(folder, str(tmp_path / "absent")) is None


@pytest.mark.parametrize("kind", ["storage", "drafting"])
def test_a_store_costs_one_write_two_syncs_one_link_and_one_listing(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in this order: the bytes are on the disk before the name is, and the name before the caller hears of it."""
    storage = request.getfixturevalue(kind)
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    calls = recorded(
        monkeypatch,
        *("open", "write", "writev", "fsync", "link", "unlink", "scandir", "mkdir", "rename", "replace", "listdir"),
    )
    storage.store_checkpoint(checkpoint(epoch, 2))
    draft = ["unlink"] if kind == "drafting" else []
    assert calls == ["open", "writev", "fsync", "link", *draft, "open", "fsync", "scandir"]


def test_where_files_need_no_name_there_are_no_drafts(storage: CheckpointStorage, tmp_path: Path) -> None:
    assert isinstance(storage, LocalFileStorage)
    if not storage.has_nameless_files:
        pytest.skip("the file system of the temporary folder has no files without a name, or is not known to sync them")
    storage.store_checkpoint(checkpoint(claim(storage), 1))
    assert not list(tmp_path.rglob(".tmp"))


@pytest.mark.parametrize("missing", ["no such files", "no /proc", "Btrfs"])
def test_a_system_without_files_without_names_gets_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def refused(*_how: object) -> int:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    if missing == "Btrfs":
        monkeypatch.setattr(seatunnel_storage_hdfs.local, "file_system", lambda *_where: "btrfs")
    else:
        named = "_name" if missing == "no /proc" else "_open_nameless"
        monkeypatch.setattr(seatunnel_storage_hdfs.local, named, refused)
    with FACTORY.create({"namespace": f"{tmp_path}/"}) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        assert refs(storage) == [(epoch, 1)]
    assert [path.name for path in tmp_path.iterdir()] == [JOB]
    assert list(tmp_path.rglob(".tmp"))


def test_a_folder_on_another_file_system_than_the_namespace_gets_drafts(
    storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start found that the namespace has files without a name; a job's folder may be a link to elsewhere."""

    def refused(folder: str) -> int:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), folder)

    monkeypatch.setattr(seatunnel_storage_hdfs.local, "_open_nameless", refused)
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    assert refs(storage) == [(epoch, 1)]


def test_a_write_that_takes_a_part_only_goes_on(storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes 2 GiB at most; here it takes 100 bytes, which end within the first piece, and between two."""
    epoch, writev, counts = claim(storage), os.writev, []

    def a_part(descriptor: int, pieces: list[memoryview]) -> int:
        first = bytes(pieces[0])[:100]
        counts.append(len(first))
        return writev(descriptor, [first])

    stored = checkpoint(epoch, 1, bytes(range(256)) * 2)
    with monkeypatch.context() as patches:
        patches.setattr(os, "writev", a_part)
        storage.store_checkpoint(stored)
    assert len(counts) > 8
    assert min(counts) < 100
    assert storage.get_latest_checkpoint(JOB, 1) == stored


def test_what_a_dead_writer_left_is_swept_by_the_next_engine(drafting: CheckpointStorage, tmp_path: Path) -> None:
    storage = drafting
    epoch = claim(storage)
    storage.store_checkpoint(checkpoint(epoch, 1))
    unfinished = tmp_path / JOB / "000001" / ".tmp"
    (unfinished / "0000000001-00000000000000000002.checkpoint.base-none.ckpt.1-ab").write_bytes(b"half")
    (unfinished / "0000000009-00000000000000000002.checkpoint.base-none.ckpt.1-ab").write_bytes(b"half")
    assert refs(storage) == [(epoch, 1)]
    claim(storage)
    assert [path.name[:10] for path in unfinished.iterdir()] == ["0000000009"]


def test_a_writer_whose_unfinished_file_was_swept_begins_again(
    drafting: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = drafting
    epoch = claim(storage)
    link = os.link
    swept: list[Any] = []

    def sweep_once(source: str, target: str) -> None:
        if not swept:
            swept.append(source)
            os.unlink(source)
        link(source, target)

    monkeypatch.setattr(os, "link", sweep_once)
    storage.store_checkpoint(checkpoint(epoch, 1))
    assert swept
    assert refs(storage) == [(epoch, 1)]


def test_a_full_disk_is_retryable_and_leaves_nothing(
    storage: CheckpointStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = claim(storage)

    def full(descriptor: int, pieces: list[memoryview]) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr(os, "writev", full)
        with pytest.raises(StorageUnavailableError, match="No space left"):
            storage.store_checkpoint(checkpoint(epoch, 1))
    assert refs(storage) == []
    assert list(tmp_path.rglob("*.ckpt*")) == []


@pytest.mark.parametrize("unmounted", [False, True])
def test_a_namespace_that_was_taken_away_is_no_deleted_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unmounted: bool
) -> None:
    """An engine whose disk was unmounted for a while took the empty folder for a job that somebody had deleted, ended,
    and left a second history in the place where the disk belonged."""
    namespace, away = tmp_path / "namespace", tmp_path / "away"
    with FACTORY.create({"namespace": f"{namespace}/"}) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        namespace.rename(away)
        if unmounted:
            namespace.mkdir()
            monkeypatch.setattr(seatunnel_storage_hdfs.local, "_device_of", lambda folder: -1)
        for verb in (lambda: storage.store_checkpoint(checkpoint(epoch, 2)), lambda: storage.scan(JOB, 1)):
            with pytest.raises(StorageUnavailableError, match="its disk is not mounted") as caught:
                verb()
            assert str(namespace) in str(caught.value)
        if unmounted:
            assert list(namespace.iterdir()) == []
            namespace.rmdir()
        assert not namespace.exists()
        away.rename(namespace)
        monkeypatch.undo()
        storage.store_checkpoint(checkpoint(epoch, 2))
        assert refs(storage) == [(epoch, 1), (epoch, 2)]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, StorageUnavailableError),
        (errno.EDQUOT, StorageUnavailableError),
        (errno.ESTALE, StorageUnavailableError),
        (errno.EROFS, StorageUnavailableError),
        (errno.EACCES, StorageAccessError),
    ],
)
def test_a_disk_that_is_full_when_it_is_opened_may_have_room_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    """Whoever opened it then was told to choose another folder, and a job of a cluster failed for good."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(seatunnel_storage_hdfs.local, "_probe", refuse)
    with pytest.raises(expected, match=os.strerror(number)):
        seatunnel_storage_hdfs.local.create({"namespace": f"{tmp_path}/"})


@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("nameless", [True, False])
def test_state_is_accessible_to_its_owner_only(tmp_path: Path, umask: int, nameless: bool) -> None:
    """Whatever the umask; the folders above the namespace are at least not writable for others."""
    before = os.umask(umask)
    try:
        storage = local.create({"namespace": f"{tmp_path}/above/state/", "max-retained": "1"})
        storage.has_nameless_files = storage.has_nameless_files and nameless
        assert storage.put_if_absent("job/a/1.bin", b"secret")
    finally:
        os.umask(before)
    modes = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / "above").rglob("*")}
    assert {name: mode for name, mode in modes.items() if name != ".tmp"} == {
        "state": 0o700, "job": 0o700, "a": 0o700, "1.bin": 0o600,
    }  # fmt: skip
    assert modes.get(".tmp", 0o700) == 0o700
    assert (tmp_path / "above").stat().st_mode & 0o022 == 0


def test_state_that_others_may_access_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    namespace = tmp_path / "state"
    configuration = {"namespace": f"{namespace}/", "max-retained": "1"}
    local.create(configuration).put_if_absent("job/a/1.bin", b"x")
    namespace.chmod(0o755)
    local.create(configuration)
    assert not caplog.records, "others may see the names of jobs, and nothing in them"
    (namespace / "job").chmod(0o755)
    local.create(configuration)
    assert f"chmod -R go= {namespace}" in caplog.text
    namespace.chmod(0o777)
    local.create(configuration)
    assert f"chmod go-w {namespace}" in caplog.text
