"""The target folder of a file sink: staging, publication and cleanup (protocol rules R8 and R9)."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError, SinkError, StoredValueError
from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, StagedOutput
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.rename import TargetExistsError
from seatunnel_core.connectors.filesystems.staged_name import PROBE, STAGING, committable_id, owner, staging_folder

_TRANSIENT = {errno.EIO, errno.EINTR, errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT, errno.ENOSPC, errno.EDQUOT}
"""Failures of a disk or server that may be temporary, including a full disk, because other programs may free space."""


def unique_name(context: WriterContext) -> str:
    """Return the part of the file name that all files of one attempt share."""
    return (
        f"{context.job_id}-p{context.pipeline_id}-s{context.sink_ordinal}-o{context.source_ordinal}"
        f"-e{context.epoch}-u{context.unit}-a{context.attempt}"
    )


@frozen
class StagedFile:
    """One file in the staging folder of an epoch."""

    epoch: int
    name: str
    folder: str
    """Folder below the target, with ``/`` as the separator; empty for the target itself."""

    published: str = ""
    """Name in the target; empty to keep the staged name."""

    receipt: Mapping[str, Any] = field(factory=dict)
    """Body of the receipt that the file system returned when the file was staged."""


@frozen(kw_only=True)
class Target:
    """One target folder, for one sink of one pipeline."""

    root: str
    job_id: str
    pipeline_id: int
    sink_ordinal: int
    sink: str = "LocalFile"
    files: FileSystem = field(factory=LocalFileSystem)

    @classmethod
    def of(
        cls, root: str, context: SinkContext | WriterContext, sink: str = "LocalFile", files: FileSystem | None = None
    ) -> "Target":
        """Return the target of a sink or a writer, on the local file system unless ``files`` is given."""
        return cls(
            root=root,
            job_id=context.job_id,
            pipeline_id=context.pipeline_id,
            sink_ordinal=context.sink_ordinal,
            sink=sink,
            files=files or LocalFileSystem(),
        )

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return f"pipeline {self.pipeline_id}, sink {self.sink}"

    @property
    def _pipeline_folder(self) -> str:
        return os.path.join(self.root, STAGING, self.job_id, str(self.pipeline_id))

    def staging(self, epoch: int) -> str:
        """Return the staging folder of an epoch."""
        return staging_folder(self.root, self.job_id, self.pipeline_id, epoch)

    # -- staging --------------------------------------------------------------------------------------------------

    def create(self, context: SinkContext) -> None:
        """Create the staging folder of an epoch durably, and mark it as prepared.

        A target that an earlier epoch prepared must still have the mark; the folder is never created a second time.
        Folders without marks, from older versions, are marked when the target is next prepared.
        """
        folder = self.staging(context.epoch)
        try:
            self._require_same(context.prepared_in)
            unmarked = context.process > 1 and not context.prepared_in and self.files.has_folders
            for epoch in self._epochs() if unmarked else ():
                self.files.prepare_staging(self.staging(epoch), self.root)
            self.files.prepare_staging(folder, self.root)
            self._require_same(context.prepared_in, but=context.epoch)  # the target may have been moved since
        except SinkError:
            self.files.unmark(folder)
            raise
        except OSError as error:
            raise self.failed("cannot be written", error, self.root) from error

    def _require_same(self, prepared_in: int, but: int = 0) -> None:
        """Raise ``SinkError`` unless this job prepared the target in ``prepared_in`` or later, except in ``but``."""
        if not prepared_in or self.files.is_prepared(self.staging(prepared_in)):
            return
        later = (epoch for epoch in self._epochs() if epoch > prepared_in and epoch != but)
        if not any(self.files.is_prepared(self.staging(epoch)) for epoch in later):
            raise SinkError(self._lost(self.staging(prepared_in)))

    def require(self, epoch: int) -> None:
        """Raise ``SinkError`` in a task unless the driver prepared the folder, which a task never creates."""
        with self.errors("cannot be read", self.root):
            found = self.files.is_prepared(self.staging(epoch))
        if not found:
            raise SinkError(self._lost(self.staging(epoch)))

    def require_for_commit(self, epoch: int) -> None:
        """Raise ``CommitError`` unless the driver prepared the target for this epoch."""
        try:
            found = self.files.is_prepared(self.staging(epoch))
        except OSError as error:
            raise CommitError(
                f"{self.who}: {self.root} cannot be read: {error.strerror or error}",
                retryable=error.errno in _TRANSIENT,
            ) from error
        if not found:
            raise CommitError(self._lost(self.staging(epoch)))

    def _lost(self, folder: str) -> str:
        return (
            f"{self.who}: the staging folder {folder} no longer exists: {self.root} was moved, removed or replaced, "
            "or its disk is not mounted. The job does not write to another folder of the same name. Restore the "
            "folder and resume the job, or start a new job"
        )

    def stage(self, epoch: int, name: str, folder: str, published: str = "") -> StagedOutput:
        """Start a file that will be published in a folder of the target as ``name`` or, if given, ``published``."""
        return self.files.stage(os.path.join(self.staging(epoch), name), self.path(folder, published or name))

    def path(self, folder: str, name: str) -> str:
        """Return the path of a file in the target."""
        return os.path.join(self.root, folder, name) if folder else os.path.join(self.root, name)

    def make_durable(self, epoch: int) -> None:
        """Make the names in the staging folder durable, like the folder itself."""
        self.files.sync_folder(self.staging(epoch))

    def discard(self, epoch: int, name: str) -> None:
        """Remove a staged file that will not be published. Never raises."""
        with suppress(OSError):
            self.files.discard(os.path.join(self.staging(epoch), name))

    def failed(self, what: str, error: OSError, path: str) -> SinkError:
        """Return a ``SinkError`` for a failed operation; retryable if the failure may be temporary."""
        found = SinkError(f"{self.who}: {error.filename or path} {what}: {error.strerror or error}")
        found.retryable = error.errno in _TRANSIENT
        return found

    @contextmanager
    def errors(self, what: str, path: str) -> Iterator[None]:
        """Convert each ``OSError`` to the error that ``failed`` returns."""
        try:
            yield
        except OSError as error:
            raise self.failed(what, error, path) from error

    # -- check that tasks and driver see the same files ---------------------------------------------------------------

    def probe(self, epoch: int, token: str) -> None:
        """Create a file in a task for ``prove`` to find; raise ``SinkError`` if the folder is not writable."""
        try:
            self.files.leave_note(self._probe(epoch, token))
        except FileNotFoundError as error:
            made = f"the driver created {self.staging(epoch)}"
            raise SinkError(f"{self.who}: {made}, but a task cannot see it: {self._shared}") from error
        except OSError as error:
            raise self.failed("cannot be written by a task", error, self.root) from error

    def prove(self, epoch: int, token: str) -> None:
        """Raise ``SinkError`` in the driver unless the file of ``probe`` is visible."""
        probe = self._probe(epoch, token)
        if not self.files.exists(probe):
            raise SinkError(f"{self.who}: a task wrote {probe}, but the driver cannot see it: {self._shared}")
        self.files.discard(probe)

    @property
    def _shared(self) -> str:
        return f"{self.root} must be a folder that all workers share with the driver, such as a network disk"

    def _probe(self, epoch: int, token: str) -> str:
        return os.path.join(self.staging(epoch), f"{PROBE}{self.sink_ordinal}-{token}")

    # -- publishing -----------------------------------------------------------------------------------------------

    def waiting(self, epoch: int, name: str, *, may_be_committed: bool) -> str | None:
        """Return the path of a staged file, for sinks that do not move files; ``None`` if it is already published.

        Raises:
            CommitError: The file is missing, and possibly unpublished.
        """
        staged = os.path.join(self.staging(epoch), name)
        if self.files.exists(staged):
            return staged
        self._absent(staged, "a part of the target", {}, may_be_committed=may_be_committed)
        return None

    def publish(self, file: StagedFile, *, may_be_committed: bool) -> str:
        """Move a staged file to the target, and return the folder to sync.

        Raises:
            CommitError: The target exists, or the staged file is missing and possibly unpublished.
        """
        staged = os.path.join(self.staging(file.epoch), file.name)
        target = self.path(file.folder, file.published or file.name)
        try:
            self.files.publish(staged, target, file.receipt)
        except TargetExistsError:
            raise CommitError(
                f"{self.who}: {target} already exists, but {staged} has not been renamed to it yet: another program "
                "wrote or copied one of them; inspect both, move the wrong one away, and resume the job"
            ) from None
        except FileNotFoundError:
            self._absent(staged, target, file.receipt, may_be_committed=may_be_committed)
        except StoredValueError as error:
            raise CommitError(f"{self.who}: {staged} cannot be published: {error}") from error
        except OSError as error:
            raise CommitError(
                f"{self.who}: {staged} cannot be published as {target}: {error.strerror}",
                retryable=error.errno in _TRANSIENT,
            ) from error
        return os.path.dirname(target)

    def _absent(self, staged: str, target: str, receipt: Mapping[str, Any], *, may_be_committed: bool) -> None:
        """Raise ``CommitError`` for a missing staged file unless it is published or may have been published before."""
        if not may_be_committed:
            raise CommitError(f"{self.who}: the staged file {staged} is missing; it should have become {target}")
        if why := self.files.why_unknown(staged, target, receipt):
            raise CommitError(f"{self.who}: {why}")

    # -- cleanup --------------------------------------------------------------------------------------------------

    def sweep(self, below: int, keep: frozenset[str]) -> int:
        """Remove this sink's staged files of epochs before ``below``, except for committables in ``keep``.

        The empty folders of the epochs remain. The newest checkpoint may still refer to output that was published from
        them, and a restore after a kill treats a missing staged file as published only while its folder exists.
        """
        with self.errors("cannot be cleaned up", self._pipeline_folder):
            return sum(self._sweep_epoch(epoch, keep) for epoch in self._epochs() if epoch < below)

    def staged(self, below: int) -> int:
        """Return the number of files of this sink that are staged in epochs before ``below``."""
        found = 0
        for epoch in (epoch for epoch in self._epochs() if epoch < below):
            units = (owner(entry.name, self.job_id) for entry in self.files.entries(self.staging(epoch)))
            found += sum(unit is not None and int(unit["sink"]) == self.sink_ordinal for unit in units)
        return found

    def clear(self, newest: int) -> None:
        """Sweep all epochs up to ``newest``, and remove empty folders.

        Other folders and their parents remain. In the usual case of a single empty epoch, no other folder is listed.
        """
        if not (self._removed(newest) and self.files.remove_if_empty(self._pipeline_folder)):
            self.sweep(newest + 1, frozenset())
            for epoch in self._epochs():
                self._removed(epoch)
            self.files.remove_if_empty(self._pipeline_folder)
        self.files.remove_if_empty(os.path.dirname(self._pipeline_folder))
        self.files.remove_if_empty(os.path.join(self.root, STAGING))

    def _removed(self, epoch: int) -> bool:
        """Remove an epoch's staging folder if it contains only its mark; return True if the folder no longer exists."""
        folder = self.staging(epoch)
        self.files.unmark(folder)
        if self.files.remove_if_empty(folder):
            return True
        with suppress(OSError):  # another sink may have files there, and needs the mark
            if self.files.is_folder(folder):
                self.files.prepare_staging(folder, self.root)
        return False

    def _epochs(self) -> list[int]:
        try:
            return sorted(int(each.name) for each in self.files.entries(self._pipeline_folder) if each.name.isdigit())
        except FileNotFoundError:
            return []

    def _sweep_epoch(self, epoch: int, keep: frozenset[str]) -> int:
        """Sweep one epoch. Another process of the job, or a failing task, may remove the same files concurrently."""
        removed = 0
        with suppress(FileNotFoundError):
            for entry in self.files.entries(self.staging(epoch)):
                unit = owner(entry.name, self.job_id)
                if unit is None or int(unit["sink"]) != self.sink_ordinal:
                    if entry.name.startswith(PROBE):
                        self.files.discard(entry.path)
                elif committable_id(unit) not in keep:
                    removed += self.files.discard(entry.path)
        return removed
