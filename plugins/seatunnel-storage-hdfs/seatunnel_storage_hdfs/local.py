"""Checkpoints in local files.

A put writes a file without a name, syncs it, links it to its name and syncs the folder. ``link`` never overwrites and
is atomic, so a partial file is never visible, and only one of several writers succeeds. Durability then depends only on
the disk. On file systems that are not known to sync files without a name (``O_TMPFILE``) like named files, the file
first has a name in ``.tmp/`` next to its target.
"""

import contextlib
import errno
import itertools
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.inventory import Holding, holdings_despite_refusals
from seatunnel_storage_api.layout import TEMPORARY_FOLDER
from seatunnel_storage_api.links import require_own_links
from seatunnel_storage_api.retry import what_helps

BACKEND = "hdfs on local files"

_OWN_FILE, _OWN_FOLDER = 0o600, 0o700
"""Modes of created files and folders, regardless of the umask: checkpoints and jobs may contain secrets and rows."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOOKED_AT = 100
"""Maximum number of entries in a namespace that are checked for access by other users."""

PROBE = ".probe-"

_NAMELESS_ON = frozenset(("ext4", "xfs", "tmpfs"))
"""File systems that sync files without a name. Until 2025, Btrfs did not, so a crash could leave an empty file."""

_NO_NAMELESS = frozenset((errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.EXDEV))
"""Errors of file systems without nameless files; a job's folder may be a link to another file system."""


class LocalFileStorage(BlobStorage):
    """Storage of blobs as files. A checkpoint costs one write, fsync, link, folder fsync and listing."""

    device: int | None = None
    """Device of the namespace when it was opened; ``None`` if the namespace is not known to have existed."""

    has_nameless_files = False
    """True if a file can be written before it is named, which costs half as much as a rename."""

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return self.put_pieces_if_absent(key, [body])

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> bool:
        path = self._own(key)
        folder = os.path.dirname(path)
        try:
            if not self.has_nameless_files or not self._put_nameless(path, pieces):
                self._put_from_draft(path, pieces)
        except FileExistsError:
            _sync_folder(folder)
            return False
        _sync_folder(folder)
        return True

    def read(self, key: str) -> bytes | None:
        try:
            with open(self._own(key), "rb", buffering=0) as file:
                return file.readall()
        except FileNotFoundError:
            self._require_namespace()
            return None

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        found = list(_files(self._own(prefix), prefix))
        if not found:
            self._require_namespace()
        return found

    def unfinished(self, prefix: str) -> Iterator[Blob]:
        for folder, _, names in os.walk(self._own(prefix)):
            for name in names if os.path.basename(folder) == TEMPORARY_FOLDER else ():
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(path, follow_symlinks=False)
                    key = path.removeprefix(self.namespace)
                    yield Blob(key=key, size_bytes=status.st_size, modified_at=status.st_mtime)

    def holdings(self, job_id: str | None = None) -> tuple[Holding, ...]:
        def names() -> list[str]:
            return self.attempt("list", "", lambda: os.listdir(self.namespace))

        return holdings_despite_refusals(super().holdings, job_id, names=names, locate=self.locate)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            folder, _, name = self.locate(key).rpartition("/")
            require_own_links(folder)  # unlink removes a link itself, not its target
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")

    def sweep_unfinished(self, folder: str, before: str) -> None:
        unfinished = self._own(folder + TEMPORARY_FOLDER)
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(unfinished):
                if name < before:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{unfinished}/{name}")

    def _own(self, key: str) -> str:
        """Return the path of a key or prefix; raise an error if the path contains another user's link."""
        path = self.locate(key)
        require_own_links(path)
        return path

    def _put_nameless(self, path: str, pieces: Sequence[bytes]) -> bool:
        """Write a file without a name and then name it; return ``False`` if the file system does not support this."""
        folder = os.path.dirname(path)
        try:
            descriptor = self._open_nameless(folder)
            try:
                _write(descriptor, pieces)
                _name(descriptor, path)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in _NO_NAMELESS:
                raise
            self.has_nameless_files = False
            return False
        return True

    def _open_nameless(self, folder: str) -> int:
        try:
            return _open_nameless(folder)
        except FileNotFoundError:
            self._make_folder(folder)
            return _open_nameless(folder)

    def _put_from_draft(self, path: str, pieces: Sequence[bytes]) -> None:
        folder, name = os.path.split(path)
        draft = f"{folder}/{TEMPORARY_FOLDER}/{name}.{os.getpid()}-{secrets.token_hex(4)}"
        try:
            try:
                _write_file(draft, pieces)
            except FileNotFoundError:
                self._make_folder(folder)
                with contextlib.suppress(FileExistsError):
                    # Not synced: a draft counts only under its final name, in another folder.
                    os.mkdir(os.path.dirname(draft), _OWN_FOLDER)
                _write_file(draft, pieces)
            os.link(draft, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)

    def _make_folder(self, folder: str) -> None:
        self._require_namespace()
        _make_folders(folder, within=self.namespace)

    def _require_namespace(self) -> None:
        """Check that the namespace is still the folder that was opened.

        Otherwise a process could mistake an unmounted disk for an empty folder, conclude that the job was deleted, and
        start a second history.
        """
        if self.device is not None and _device_of(self.namespace) != self.device:
            raise StorageUnavailableError(
                f"the namespace {self.namespace} is no longer the folder that this process opened: it was moved, "
                "or its disk is not mounted. Restore it"
            )


_PASSING = frozenset((errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ESTALE, errno.ETIMEDOUT))
"""Temporary errors: the disk is full or failing, or the server does not respond."""


def create(configuration: Mapping[str, str], backend: str = BACKEND) -> LocalFileStorage:
    """Return a storage, named ``backend`` in messages, after a test write unless it is read-only."""
    namespace = shared.namespace(configuration)
    storage = LocalFileStorage(backend=backend, namespace=namespace, max_retained=shared.max_retained(configuration))
    storage.read_only = shared.read_only(configuration)
    if not storage.read_only:
        storage.has_nameless_files = _require_usable(namespace, backend)
        storage.device = _device_of(namespace)
        shared.warn(_exposed(namespace))
    return storage


def _require_usable(namespace: str, backend: str) -> bool:
    """Return True if the file system supports nameless files; raise the errors of ``create``."""
    try:
        require_own_links(namespace)
        _make_folders(namespace.rstrip("/") or "/", within=namespace)
        has_nameless_files = _probe(namespace)
    except OSError as cause:
        if cause.errno in _PASSING:
            raise StorageUnavailableError(
                f"cannot use {namespace} ({backend}): {cause}. {what_helps(cause)}"
            ) from cause
        raise StorageAccessError(
            f"cannot use {namespace} ({backend}): {cause}. Make it a folder on a file system with hard links that this "
            f"user may write, for example with: mkdir -p {namespace} && chown $USER {namespace}; or set another "
            "namespace in plugin-config"
        ) from cause
    network = network_file_system(namespace)
    if network is not None:
        shared.warn(
            [
                f"the namespace {namespace} is on the network file system {network}, which may cache listings: "
                "fencing off an engine on another host is not guaranteed there"
            ]
        )
    return has_nameless_files


def _exposed(namespace: str) -> list[str]:
    """Return a warning if other users can replace the namespace's entries or read existing ones."""
    found = os.stat(namespace)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
        return [f"other users may write to {namespace}, which contains state: run chmod go-w {namespace}"]
    if found.st_uid not in (0, os.getuid()):
        return [f"the namespace {namespace}, which contains state, belongs to another user: make this user its owner"]
    if not found.st_mode & (stat.S_IXGRP | stat.S_IXOTH):
        return []
    with os.scandir(namespace) as entries:
        for entry in itertools.islice(entries, _LOOKED_AT):
            with contextlib.suppress(FileNotFoundError):
                if not entry.is_symlink() and entry.stat().st_mode & _OTHERS:
                    said = f"other users may read state in {namespace}, for example {entry.name}"
                    return [f"{said}: chmod -R go= {namespace}"]
    return []


def _probe(namespace: str) -> bool:
    """Run the steps of a put once, with names that no listing returns; return True if nameless files work."""
    probe = f"{namespace}{PROBE}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        _write_file(probe, [])
        os.link(probe, f"{probe}-linked")
        _sync_folder(namespace)
        try:
            if file_system(namespace) not in _NAMELESS_ON:
                return False
            descriptor = _open_nameless(namespace)
            try:
                _name(descriptor, f"{probe}-named")
            finally:
                os.close(descriptor)
        except OSError:  # for example, /proc does not exist
            return False
        return True
    finally:
        for path in (probe, f"{probe}-linked", f"{probe}-named"):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _device_of(folder: str) -> int | None:
    """Return the number of the device that contains a folder; ``None`` if the folder does not exist."""
    try:
        return os.stat(folder).st_dev
    except FileNotFoundError:
        return None


def _open_nameless(folder: str) -> int:
    """Open a new file without a name, if this is supported. It disappears when it is closed, unless it was named."""
    if not hasattr(os, "O_TMPFILE"):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), folder)
    return os.open(folder, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, _OWN_FILE)


def _name(descriptor: int, path: str) -> None:
    """Link a nameless file to a path, unless the path exists."""
    # Python follows the link only with a directory descriptor given; any one works, because the path is absolute.
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def _write_file(path: str, pieces: Sequence[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWN_FILE)
    try:
        _write(descriptor, pieces)
    finally:
        os.close(descriptor)


def _write(descriptor: int, pieces: Sequence[bytes]) -> None:
    """Write all pieces; they are durable when the call returns."""
    rest = [memoryview(piece) for piece in pieces]
    while rest:
        rest = _after(os.writev(descriptor, rest), rest)
    os.fsync(descriptor)


def _after(written_bytes: int, pieces: list[memoryview]) -> list[memoryview]:
    """Return the pieces that remain to be written; one call writes at most 2 GiB."""
    for index, piece in enumerate(pieces):
        if written_bytes < len(piece):
            return [piece[written_bytes:], *pieces[index + 1 :]]
        written_bytes -= len(piece)
    return []


def _make_folders(path: str, *, within: str) -> None:
    """Create a folder and its parents durably. Other users may enter the folders above the namespace."""
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        _make_folders(parent, within=within)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, _OWN_FOLDER if f"{path}/".startswith(within) else 0o755)
        _sync_folder(parent)


def _sync_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _files(folder: str, prefix: str) -> Iterator[Blob]:
    for entry, status in _entries(folder):
        if not stat.S_ISDIR(status.st_mode):
            yield Blob(key=prefix + entry, size_bytes=status.st_size, modified_at=status.st_mtime)
        elif entry != TEMPORARY_FOLDER or not prefix:  # directly below the namespace it is a job of that name
            yield from _files(f"{folder}/{entry}", f"{prefix}{entry}/")


def _entries(folder: str) -> list[tuple[str, os.stat_result]]:
    """List a folder with the status of each file; start over if a file is removed before its status is read.

    Omitting that file would show a state that never existed: with ``max-retained: 1``, neither the old checkpoint nor
    the new one that replaced it.
    """
    while True:
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        with contextlib.suppress(FileNotFoundError):
            return [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]


_NETWORK = re.compile(r"nfs\d*|cifs|smb\d*|9p|fuse\.sshfs|fuse\.glusterfs|afs|lustre|beegfs")
_OCTAL = re.compile(r"\\([0-7]{3})")


def network_file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """Return the type of a folder's network file system, such as ``nfs4``; ``None`` if it is local or unknown."""
    kind = file_system(folder, mounts)
    return kind if _NETWORK.fullmatch(kind) else None


def file_system(folder: str, mounts: str = "/proc/self/mountinfo") -> str:
    """Return the type of a folder's file system, such as ``ext4``; empty if it is unknown."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            kinds = dict(_mount(line) for line in file)
    except OSError:
        return ""
    path = os.path.realpath(folder)
    while path not in kinds and path != "/":
        path = os.path.dirname(path)
    return kinds.get(path, "")


def _mount(line: str) -> tuple[str, str]:
    """Return the mount point and type in a line of mountinfo (proc(5)), where the type follows a single hyphen."""
    before, _, after = line.partition(" - ")
    point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), before.split(" ")[4])
    return point, after.split(" ")[0]
