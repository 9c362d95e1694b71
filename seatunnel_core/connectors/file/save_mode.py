"""Save mode of a file sink. It empties the target once, and never after another engine has taken over the job (R6).

::

    <target>/.seatunnel/<job>/save-mode/<process>-<epoch>-<pipeline>-<sink>  the fence: a folder; an object in a bucket

Each start creates its own fence and removes the fences of earlier processes, before it publishes anything. Entries to
remove are first moved into the folder of the fence, which fails if that folder no longer exists: a suspended process
that resumes can no longer move anything. A bucket has no folders to move into; the fence is checked before each
removal, so a process that is suspended between the two may still complete one removal.
"""

import errno
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connectors.additions import files_in_words
from seatunnel_core.connectors.filesystems.filesystem import Entry
from seatunnel_core.connectors.filesystems.staged_name import FENCE, OWNER, SAVE_MODE, STAGING
from seatunnel_core.connectors.staging.naming import own_beginning
from seatunnel_core.connectors.staging.target import Target

_TRIES = 20
"""Maximum number of attempts to remove a folder into which another process keeps moving files."""

_MOST_FOLDERS = 1_000
"""Maximum number of folders listed when counting files; a bucket may contain very many."""

_OTHER_DISK = (errno.EXDEV, errno.EBUSY)


class Fence:
    """Save mode of one sink in one epoch, with a fence against older processes."""

    def __init__(self, target: Target, context: SinkContext) -> None:
        self._target = target
        self._files = target.files
        self._context = context
        self._folder = os.path.join(target.root, STAGING, target.job_id, SAVE_MODE)
        self._fence = os.path.join(
            self._folder, f"{context.process}-{context.epoch}-{target.pipeline_id}-{target.sink_ordinal}"
        )

    def shut_out_older(self) -> None:
        """Prevent earlier processes from moving entries out of the target, by removing their fences."""
        if self._context.process == 1:  # the first of the job
            return
        with self._target.errors("cannot be written", self._folder):
            for entry in self._fences():
                if self._is_older(entry):
                    self._take_down(entry)

    def _is_older(self, fence: Entry) -> bool:
        """Return True if a fence is from an earlier process or, without a process number, from an earlier epoch."""
        process, epoch, *_ = map(int, fence.name.split("-"))
        return (process, 0 if process else epoch) < (self._context.process, 0 if process else self._context.epoch)

    def begin(self) -> None:
        """Create the fence. The caller must then check that it still owns the job."""
        with self._target.errors("cannot be written", self._folder):
            if self._files.has_folders:
                self._files.make_staging(self._fence, self._target.root)
            else:
                self._files.leave_note(self._fence)

    def clear(self, *, fences: bool) -> None:
        """Remove the fences of an ended job. If ``fences`` is False, the job has created none; nothing is listed."""
        if not fences and self._context.process == 1:
            return
        with self._target.errors("cannot be cleaned up", self._folder):
            for entry in self._fences() if fences else ():
                self._take_down(entry)
        self._files.remove_if_empty(self._folder)

    def _fences(self) -> list[Entry]:
        try:
            found = self._files.entries(self._folder)
        except FileNotFoundError:
            return []
        return [entry for entry in found if FENCE.fullmatch(entry.name)]

    def _take_down(self, fence: Entry) -> None:
        if not fence.is_folder:
            self._files.remove(fence.path)
            return
        for left in reversed(range(_TRIES)):
            try:
                self._files.remove_folder(fence.path)
            except FileNotFoundError:
                return
            except OSError:
                if not left:
                    raise

    def _require(self) -> None:
        if not self._files.exists(self._fence):
            raise SinkError(
                f"{self._target.who}: {self._fence} no longer exists: another engine has taken over this job, or the "
                f"job has ended, so no file is removed from {self._target.root}"
            )

    def existing(
        self, below: "Sequence[re.Pattern[str]]" = (), expression: str = "", time_format: str = ""
    ) -> list[Entry]:
        """Return the visible entries of the target that this job did not write.

        Args:
            below: Patterns of the folders below the target that belong to it, if the path has variables.
            expression: Pattern of the sink's file names.
            time_format: Format of ``${now}`` in the pattern.
        """
        own = self._own(expression, time_format)
        folders = [self._target.root]
        for pattern in below:
            found = [entry for folder in folders for entry in self._visible(folder)]
            folders = [entry.path for entry in found if pattern.fullmatch(entry.name) and entry.is_folder]
        every = (entry for folder in folders for entry in self._visible(folder))
        return [entry for entry in every if not self._is_own(entry, own)]

    def _own(self, expression: str, time_format: str) -> re.Pattern[str]:
        return re.compile(own_beginning(expression, time_format) + re.escape(self._target.job_id) + OWNER.pattern)

    def files_in_words(self, expression: str = "", time_format: str = "") -> str:
        """Describe how many files of other jobs the target contains; empty if there are none or listing fails."""
        found, own = 0, self._own(expression, time_format)
        with suppress(OSError):  # Write permission does not imply permission to list.
            for _, entries in islice(self._files.folders(self._target.root, without=STAGING), _MOST_FOLDERS):
                found += sum(not entry.name.startswith((".", "_")) and not own.match(entry.name) for entry in entries)
        return files_in_words(found)

    def _visible(self, folder: str) -> list[Entry]:
        return [entry for entry in self._files.entries(folder) if not entry.name.startswith(".")]

    def _is_own(self, entry: Entry, own: re.Pattern[str]) -> bool:
        """Return True if the entry is, or contains, a file that a pipeline of this job published.

        A folder in which the job stages also belongs to the job: it is the target of another sink.
        """
        if not entry.is_folder or entry.is_link:
            return own.match(entry.name) is not None
        staging = f"/{STAGING}/{self._target.job_id}/"
        return any(
            staging in f"{folder}/" or any(own.match(each.name) for each in found)
            for folder, found in self._files.folders(entry.path)
        )

    def drop(self, entries: Iterable[Entry]) -> None:
        """Remove the entries durably; raise ``SinkError`` if another engine has taken over the job."""
        self._require()
        folders: dict[str, None] = {}
        for number, entry in enumerate(entries):
            self._take(entry, number)
            folders[os.path.dirname(entry.path)] = None
        for folder in folders:
            self._files.sync_folder(folder)
        if self._files.has_folders:
            for moved in self._files.entries(self._fence):
                self._remove(moved)

    def _take(self, entry: Entry, number: int) -> None:
        if not self._files.has_folders:
            self._require()
            self._remove(entry)
            return
        try:
            self._files.move(entry.path, os.path.join(self._fence, str(number)))
        except FileNotFoundError:
            self._require()  # The fence exists, so another program has removed the entry.
        except OSError as error:
            if error.errno not in _OTHER_DISK:
                raise
            self._require()
            self._remove(entry)

    def _remove(self, entry: Entry) -> None:
        if entry.is_folder and not entry.is_link:
            self._files.remove_folder(entry.path)
        else:
            self._files.remove(entry.path)
