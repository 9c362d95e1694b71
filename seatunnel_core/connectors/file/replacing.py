"""Replacement of the content of folders at the end of a run.

::

    <target>/.seatunnel/<job>/replacing/
        <pipeline>-<sink>/<folder>/<name>      committed files that are not in place yet
        <pipeline>-<sink>-folders/<folder>/    marker: replace this folder
        <pipeline>-<sink>-<epoch>/             files that an engine is moving into place
        <pipeline>-<sink>-done                 marker: all folders are replaced

A new folder replaces an old one, atomically on a local disk; the old one is then removed. File names contain the job,
so they show which of the two folders is in place. An engine first renames the folder of the committed files to a name
with its epoch. A later engine renames it again, so that a suspended engine that resumes finds nothing to move.

A bucket has no folders to rename: the new files are added next to the old ones, which are then removed, protected by
the fence of ``save_mode``.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from attrs import evolve, frozen

from seatunnel_core.connector_api.errors import SinkError, UsageError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connectors.file import sink_options as opt
from seatunnel_core.connectors.file.file_layout import FileLayout
from seatunnel_core.connectors.file.save_mode import Fence
from seatunnel_core.connectors.filesystems.filesystem import Entry, FileSystem
from seatunnel_core.connectors.filesystems.staged_name import REPLACING, STAGING
from seatunnel_core.connectors.staging.target import StagedFile, Target

_NOTE = ".replaced"


def refuse_unfit(layout: FileLayout) -> None:
    """Reject options with which a sink cannot replace existing files, or would replace more than intended."""
    if not layout.mode.replaces:
        return
    if layout.style.writer.keeps_names:
        raise UsageError(
            "option 'write_mode': replace requires new file names, but binary files keep their names; set "
            "data_save_mode = DROP_DATA"
        )
    if not layout.root or layout.root.rstrip("/") == layout.files.top.rstrip("/"):
        raise UsageError(
            f"option 'path': write_mode = replace replaces the folder {layout.place}, which is in the root of the "
            "file system; use a folder below another folder, such as /data/out"
        )
    chosen = layout.mode.partitions
    if chosen and chosen != layout.partition_by:
        raise UsageError(
            f"option 'replace_partitions': found {', '.join(chosen)}, but partition_by is "
            f"{', '.join(layout.partition_by) or 'unset'}: both must contain the same columns"
        )
    if chosen and layout.options.is_set(opt.PARTITION_DIR):
        raise UsageError(
            "option 'partition_dir_expression': replace_partitions needs the default layout, with a separate folder "
            "for each partition; remove partition_dir_expression"
        )


def require_replaceable(target: Target, folder: str) -> None:
    """Reject a folder that cannot be replaced, or in which another job stages files."""
    staging = os.path.join(folder, STAGING)
    with target.errors("cannot be replaced", folder):
        target.files.require_replaceable(folder)
        if not target.files.is_folder(staging):
            return
    raise SinkError(
        f"{target.who}: {staging} may contain staged rows of another job, and replacing the target folder would "
        f"delete them. End or resume that job, or remove {staging}"
    )


@frozen(kw_only=True)
class Replacing:
    """Folders that one sink of one pipeline replaces."""

    target: Target
    context: SinkContext
    own: re.Pattern[str]
    """Pattern that matches the beginning of the file names that the sink writes for this pipeline."""

    @property
    def _files(self) -> FileSystem:
        return self.target.files

    @property
    def _folder(self) -> str:
        return os.path.join(self.target.root, STAGING, self.target.job_id, REPLACING)

    @property
    def waiting(self) -> str:
        """Folder of the committed files that have not replaced the existing files yet."""
        return os.path.join(self._folder, f"{self.target.pipeline_id}-{self.target.sink_ordinal}")

    @property
    def _noted(self) -> str:
        return f"{self.waiting}-folders"

    @property
    def _done(self) -> str:
        return f"{self.waiting}-done"

    # -- during the run -------------------------------------------------------------------------------------------

    def expect(self, folders: Iterable[str]) -> None:
        """Mark folders below the target for replacement, even if they receive no file."""
        with self.target.errors("cannot be written", self._folder):
            for folder in folders:
                noted = os.path.join(self._noted, folder)
                if self._files.has_folders:
                    self._files.make_staging(noted, self.target.root)
                self._files.leave_note(os.path.join(noted, _NOTE))
                self._files.sync_folder(noted)

    def collected(self, files: Sequence[StagedFile], *, may_be_committed: bool) -> list[StagedFile]:
        """Return the staged files with the folder ``waiting`` as their target.

        In a bucket, omit files that an interrupted attempt has already moved to the target.
        """
        beside = self.waiting[len(self.target.root) :].strip("/")
        looked = may_be_committed and not self._files.has_folders
        return [
            evolve(file, folder=os.path.join(beside, file.folder) if file.folder else beside)
            for file in files
            if not (looked and self._files.exists(self.target.path(file.folder, file.name)))
        ]

    # -- after the last row -------------------------------------------------------------------------------------------

    def complete(self) -> None:
        """Replace the marked folders and remove their old content, unless this is already done."""
        with self.target.errors("cannot be replaced", self._folder):
            if self._files.exists(self._done):
                self._remove_waiting()
                return
            folders = self._expected()
            if not folders:
                return
            if self._files.has_folders:
                work = self._taken()
                for folder in folders:
                    self._put(work, folder)
            else:
                self._put_objects(folders)
            self._files.leave_note(self._done)
            self._files.sync_folder(self._folder)
            self._remove_waiting()

    def _expected(self) -> list[str]:
        found = {
            folder[len(self._noted) :].strip("/"): None
            for folder, entries in self._files.folders(self._noted)
            if any(entry.name == _NOTE for entry in entries)
        }
        return sorted(found)

    def _taken(self) -> str:
        """Rename the folder of the committed files so that no other engine finds it, and return its path."""
        mine = f"{self.waiting}-{self.context.epoch}"
        for epoch, entry in self._at_work():
            if epoch > self.context.epoch:
                raise SinkError(f"{self.target.who}: another engine has taken over this job: {entry.path} exists")
            if epoch < self.context.epoch:
                self._files.move(entry.path, mine)
                break
        if not self._files.is_folder(mine):
            if self._files.is_folder(self.waiting):
                self._files.move(self.waiting, mine)
            else:  # There was no file.
                self._files.make_staging(mine, self.target.root)
        self._files.sync_folder(self._folder)
        return mine

    def _at_work(self) -> list[tuple[int, Entry]]:
        begin = f"{os.path.basename(self.waiting)}-"
        found = [entry for entry in self._listed() if entry.name.startswith(begin)]
        named = ((entry.name[len(begin) :], entry) for entry in found)
        return [(int(epoch), entry) for epoch, entry in named if epoch.isdigit()]

    def _listed(self) -> Sequence[Entry]:
        try:
            return self._files.entries(self._folder)
        except FileNotFoundError:
            return ()

    def _put(self, work: str, folder: str) -> None:
        """Replace a target folder with its counterpart in ``work``, unless it is already in place."""
        new, there = os.path.join(work, folder), os.path.join(self.target.root, folder)
        if not self._is_left(new, there):
            return
        require_replaceable(self.target, there)
        if not self._files.is_folder(new):
            self._files.make_staging(new, self.target.root)
        if not self._files.is_folder(there):
            above = os.path.dirname(there)
            if not self._files.is_folder(above):
                self._files.make_staging(above, self.target.root)
            self._files.move(new, there)
        elif not self._files.trade(new, there):
            aside = _aside(new)
            while self._files.is_folder(aside):  # An earlier engine stopped between its renames.
                aside = _aside(aside)
            self._files.move(there, aside)
            self._files.move(new, there)
        for each in (os.path.dirname(there), os.path.dirname(new)):
            self._files.sync_folder(each)

    def _is_left(self, new: str, there: str) -> bool:
        """Return True if ``new`` must still replace ``there``: it has files of this job, or neither folder has any."""
        waiting = [self._is_own(entry) for entry in self._below(new)]
        if any(waiting):
            return True
        if waiting or any(map(self._is_own, self._below(there))):
            return False
        return not (self._files.is_folder(_aside(new)) and self._files.is_folder(there))

    def _is_own(self, entry: Entry) -> bool:
        return self.own.match(entry.name) is not None

    def _below(self, folder: str) -> Iterator[Entry]:
        return (entry for _, entries in self._files.folders(folder) for entry in entries)

    def _put_objects(self, folders: Sequence[str]) -> None:
        """Move the committed objects next to the old ones, then remove the old ones."""
        waiting = [entry.path for entry in self._below(self.waiting)]
        moves = [(path, self.target.root + path[len(self.waiting) :]) for path in waiting]
        with ThreadPoolExecutor(self._files.publishes_at_once, thread_name_prefix="replace") as pool:
            for moved in [pool.submit(self._files.move, *each) for each in moves]:
                moved.result()
        fence = Fence(self.target, self.context)
        for folder in folders:
            below = os.path.join(self.target.root, folder).rstrip("/")
            every = (entry for _, found in self._files.folders(below, without=STAGING) for entry in found)
            fence.drop([entry for entry in every if not self._is_own(entry) and not entry.name.startswith(".")])

    # -- cleanup ------------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Remove the sink's leftovers after the end of the job."""
        with self.target.errors("cannot be cleaned up", self._folder):
            self._remove_waiting()
            if self._files.exists(self._done):
                self._files.remove(self._done)
        self._files.remove_if_empty(self._folder)

    def _remove_waiting(self) -> None:
        for folder in (self.waiting, self._noted, *(entry.path for _, entry in self._at_work())):
            if self._files.is_folder(folder):
                with suppress(FileNotFoundError):
                    self._files.remove_folder(folder)


def _aside(folder: str) -> str:
    """Return the path to which an old folder is moved if it cannot be exchanged atomically with the new one."""
    return f"{folder}.old"
