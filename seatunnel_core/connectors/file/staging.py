"""Where a file sink stages, how it publishes, and what it sweeps (protocol rules R8 and R9). What the files are called
is in ``staged_name``.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from attrs import frozen

from seatunnel_core.connectors.file.rename import TargetExistsError, rename_new
from seatunnel_core.connectors.file.staged_name import OWNER, PROBE, STAGING, committable_id, owner, staging_folder
from seatunnel_core.connectors.sink import SinkPlace, StagingPlace
from seatunnel_core.errors import CommitError, SinkError

_TRANSIENT = {errno.EIO, errno.EINTR, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.ESTALE, errno.ETIMEDOUT}


def unique_name(place: StagingPlace) -> str:
    """What the names of all files of one attempt contain."""
    return (
        f"{place.job_id}-p{place.pipeline_id}-s{place.sink_ordinal}-o{place.source_ordinal}"
        f"-e{place.epoch}-u{place.unit}-a{place.attempt}"
    )


@frozen(kw_only=True)
class Target:
    """One target folder, as one sink of one pipeline uses it."""

    root: str
    job_id: str
    pipeline_id: int
    sink_ordinal: int
    sink: str = "LocalFile"

    @classmethod
    def of(cls, root: str, place: SinkPlace | StagingPlace, sink: str = "LocalFile") -> "Target":
        return cls(
            root=root,
            job_id=place.job_id,
            pipeline_id=place.pipeline_id,
            sink_ordinal=place.sink_ordinal,
            sink=sink,
        )

    @property
    def who(self) -> str:
        return f"pipeline {self.pipeline_id}, sink {self.sink}"

    @property
    def _pipeline_folder(self) -> str:
        return os.path.join(self.root, STAGING, self.job_id, str(self.pipeline_id))

    def staging(self, epoch: int) -> str:
        return staging_folder(self.root, self.job_id, self.pipeline_id, epoch)

    # -- staging --------------------------------------------------------------------------------------------------

    def create(self, epoch: int) -> None:
        """Create the staging folder, so that it survives a crash of the machine.

        Raises:
            SinkError: names the folder and what stands in the way.
        """
        folder = self.staging(epoch)
        try:
            _create_folder(self.root)
            os.makedirs(folder, exist_ok=True)
            while folder != self.root:  # also where the folder is there: a process that was killed may have made it
                folder = os.path.dirname(folder)
                sync_folder(folder)
            if not os.access(self.root, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self.root)
        except OSError as error:
            raise self.failed("cannot be written", error, self.root) from error

    def make_durable(self, epoch: int) -> None:
        """Make the names in the staging folder survive a crash of the machine, as the folder itself does."""
        sync_folder(self.staging(epoch))

    def failed(self, what: str, error: OSError, path: str) -> SinkError:
        found = SinkError(f"{self.who}: {error.filename or path} {what}: {error.strerror or error}")
        found.retryable = error.errno in (errno.EIO, errno.EINTR, errno.ESTALE)
        return found

    # -- whether tasks and driver see the same ----------------------------------------------------------------------

    def probe(self, epoch: int, token: str) -> None:
        """In a task: leave a file where ``prove`` looks for it.

        Raises:
            SinkError: the task does not see what the driver made, or cannot write there.
        """
        try:
            with open(self._probe(epoch, token), "wb"):
                pass
        except FileNotFoundError as error:
            made = f"the driver made {self.staging(epoch)}"
            raise SinkError(f"{self.who}: {made} and a task does not see it: {self._shared}") from error
        except OSError as error:
            raise self.failed("cannot be written by a task", error, self.root) from error

    def prove(self, epoch: int, token: str) -> None:
        """In the driver: raise ``SinkError`` unless the file is there."""
        probe = self._probe(epoch, token)
        if not os.path.exists(probe):
            raise SinkError(f"{self.who}: a task wrote {probe} and the driver does not see it: {self._shared}")
        os.unlink(probe)

    @property
    def _shared(self) -> str:
        return f"{self.root} must be a folder that all workers share with the driver, such as a network disk"

    def _probe(self, epoch: int, token: str) -> str:
        return os.path.join(self.staging(epoch), f"{PROBE}{self.sink_ordinal}-{token}")

    # -- publishing -----------------------------------------------------------------------------------------------

    def waiting(self, epoch: int, name: str, *, again: bool) -> str | None:
        """The path of a staged file, for a sink that does not move it; ``None`` when it was published before.

        Raises:
            CommitError: it is not there, and nothing says that it was published.
        """
        staged = os.path.join(self.staging(epoch), name)
        if os.path.exists(staged):
            return staged
        self._absent(epoch, staged, "a part of the target", again=again)
        return None

    def publish(self, epoch: int, name: str, folder: str, *, again: bool, published: str = "") -> str:
        """Move one staged file to its place, and say which folder has to be synchronised.

        Args:
            published: its name there, if it is another one.

        Raises:
            CommitError: the target is there already, or the staged file is not and nothing says that it was published.
        """
        staged = os.path.join(self.staging(epoch), name)
        target_folder = os.path.join(self.root, folder) if folder else self.root
        target = os.path.join(target_folder, published or name)
        try:
            _move(staged, target)
        except TargetExistsError:
            raise CommitError(
                f"{self.who}: {target} exists, and {staged} waits to become it: something else wrote or copied one of "
                "them; look at both, move the wrong one away, and resume"
            ) from None
        except FileNotFoundError:
            self._absent(epoch, staged, target, again=again)
        except OSError as error:
            raise CommitError(
                f"{self.who}: {staged} cannot be published as {target}: {error.strerror}",
                retryable=error.errno in _TRANSIENT,
            ) from error
        return target_folder

    def _absent(self, epoch: int, staged: str, target: str, *, again: bool) -> None:
        """The staged file is not there: it was published before, or something is wrong."""
        if not again:
            raise CommitError(f"{self.who}: {staged} was staged and is gone; it should have become {target}")
        if not os.path.isdir(self.staging(epoch)):
            raise CommitError(
                f"{self.who}: the staging folder {self.staging(epoch)} is gone, so it cannot be told whether {target} "
                "was published; is the target's disk mounted, and is this the same machine?"
            )

    # -- sweeping -------------------------------------------------------------------------------------------------

    def sweep(self, below: int, keep: frozenset[str]) -> int:
        """Remove what this sink staged in epochs smaller than ``below`` and ``keep`` does not name.

        The epochs' folders stay, empty: the newest checkpoint may still name what was published from them, and a
        restore after a kill right now takes a missing staged file for a published one only while its folder is there.
        """
        try:
            return sum(self._sweep_epoch(epoch, keep) for epoch in self._epochs() if epoch < below)
        except OSError as error:
            raise self.failed("cannot be swept", error, self._pipeline_folder) from error

    def clear(self) -> None:
        """Remove the empty folders that the sweeps leave; one that is not empty stays, and so does what holds it."""
        for epoch in self._epochs():
            _remove_if_empty(self.staging(epoch))
        _remove_if_empty(self._pipeline_folder)
        _remove_if_empty(os.path.dirname(self._pipeline_folder))
        _remove_if_empty(os.path.join(self.root, STAGING))

    def _epochs(self) -> list[int]:
        try:
            return sorted(int(name) for name in os.listdir(self._pipeline_folder) if name.isdigit())
        except FileNotFoundError:
            return []

    def _sweep_epoch(self, epoch: int, keep: frozenset[str]) -> int:
        """Another process that goes on with the job, or a task that fails and clears up, may remove the same files."""
        removed = 0
        with suppress(FileNotFoundError), os.scandir(self.staging(epoch)) as entries:
            for entry in list(entries):
                unit = owner(entry.name, self.job_id)
                if unit is None or int(unit["sink"]) != self.sink_ordinal:
                    if entry.name.startswith(PROBE):
                        _remove_if_there(entry.path)
                elif committable_id(unit) not in keep:
                    removed += _remove_if_there(entry.path)
        return removed

    # -- the save mode --------------------------------------------------------------------------------------------

    def existing(self, below: "Sequence[re.Pattern[str]]" = ()) -> Iterator[os.DirEntry[str]]:
        """What lies in the target and does not come from this job, hidden things left out.

        Args:
            below: where the path has variables: how the folders below the target are called that count as it.
        """
        folders = [self.root]
        for pattern in below:
            found = [entry for folder in folders for entry in _visible(folder)]
            folders = [entry.path for entry in found if pattern.fullmatch(entry.name) and entry.is_dir()]
        return (entry for folder in folders for entry in _visible(folder) if not self._has_own(entry))

    def drop(self, entries: Iterable[os.DirEntry[str]]) -> None:
        """Remove them, folders with all that is in them."""
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)

    def _has_own(self, entry: os.DirEntry[str]) -> bool:
        """Whether it is, or holds, a file that this job published: another pipeline of it may write here too."""
        own = re.compile(re.escape(self.job_id) + OWNER.pattern)
        if not entry.is_dir(follow_symlinks=False):
            return own.search(entry.name) is not None
        return any(own.search(name) for _, _, names in os.walk(entry.path) for name in names)


def _visible(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _move(staged: str, target: str) -> None:
    """Rename, and create the target's folder when that is what is missing.

    Raises:
        FileNotFoundError: the staged file is not there; or a former process that woke up published it just now.
    """
    try:
        rename_new(staged, target)
    except FileNotFoundError:
        if not os.path.lexists(staged):
            raise
        _create_folder(os.path.dirname(target))
        rename_new(staged, target)


def _create_folder(folder: str) -> None:
    """Create the folder and those above it that are missing; each one's name survives a crash of the machine."""
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _create_folder(above)
    try:
        os.mkdir(folder)
    except FileExistsError as error:
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, _instead_of_folder(folder), folder) from error
    except FileNotFoundError as error:  # in /proc, say, which only the system fills
        raise PermissionError(errno.EPERM, f"no folder can be made in {above}", folder) from error
    else:
        sync_folder(above)


def _instead_of_folder(path: str) -> str:
    if os.path.islink(path) and not os.path.exists(path):
        return f"it is a link to {os.readlink(path)}, which is not there"
    return "it is a file, not a folder"


def sync_folder(folder: str) -> None:
    """Make the names in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: str) -> None:
    """Make the content of a file survive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_if_there(path: str) -> bool:
    """Remove a file, and say whether it was this call that did."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _remove_if_empty(folder: str) -> None:
    with suppress(OSError):
        os.rmdir(folder)
