"""How a file sink empties its target: once, and never behind the back of an engine that has taken the job over (R6).

::

    <target>/.seatunnel/<job>/save-mode/<process>-<epoch>-<pipeline>-<sink>     the fence: a folder; a note in a bucket

Each start makes a fence of its own and takes away those of earlier processes, before it publishes anything. What is to
go is moved into the fence's folder, which fails when that is gone: a process that was asleep moves nothing any more. In
a bucket nothing is moved: the note is looked for before each removal, so such a process may finish one that it had
begun.
"""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from seatunnel_core.connectors.filesystems.filesystem import Entry
from seatunnel_core.connectors.filesystems.staged_name import FENCE, OWNER, SAVE_MODE, STAGING
from seatunnel_core.connectors.sink import SinkContext
from seatunnel_core.connectors.staging.naming import own_beginning
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.errors import SinkError

_TRIES = 20
"""So often a folder is removed again into which another process has moved something meanwhile."""

_OTHER_DISK = (errno.EXDEV, errno.EBUSY)


class Fence:
    """One target folder, as the save mode of one sink of one pipeline changes it in one epoch."""

    def __init__(self, target: Target, context: SinkContext) -> None:
        self._target = target
        self._files = target.files
        self._context = context
        self._folder = os.path.join(target.root, STAGING, target.job_id, SAVE_MODE)
        self._fence = os.path.join(
            self._folder, f"{context.process}-{context.epoch}-{target.pipeline_id}-{target.sink_ordinal}"
        )

    # -- the fence ------------------------------------------------------------------------------------------------

    def shut_out_older(self) -> None:
        """From here on no earlier process moves anything out of the target. Those of this one wait for each other."""
        if self._context.process == 1:  # the first of the job
            return
        with self._told("cannot be written"):
            for entry in self._fences():
                if self._is_older(entry):
                    self._take_down(entry)

    def _is_older(self, fence: Entry) -> bool:
        """Without numbers of processes, as a test may have it, epochs tell."""
        process, epoch, *_ = map(int, fence.name.split("-"))
        return (process, 0 if process else epoch) < (self._context.process, 0 if process else self._context.epoch)

    def begin(self) -> None:
        """Put up the fence. Whoever does so looks then whether the job is still its own."""
        with self._told("cannot be written"):
            if self._files.has_folders:
                self._files.make_staging(self._fence, self._target.root)
            else:
                self._files.leave_note(self._fence)

    def clear(self, *, fences: bool) -> None:
        """The job has ended. Without ``fences`` there are none, and nothing is listed."""
        if not fences and self._context.process == 1:
            return
        with self._told("cannot be swept"):
            for entry in self._fences() if fences else ():
                self._take_down(entry)
        self._files.remove_if_empty(self._folder)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._target.failed(what, error, self._folder) from error

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
                f"{self._target.who}: {self._fence} is gone: another engine goes on with this job, or it has ended, so "
                f"nothing is removed from {self._target.root}"
            )

    # -- what is there --------------------------------------------------------------------------------------------

    def existing(
        self, below: "Sequence[re.Pattern[str]]" = (), expression: str = "", time_format: str = ""
    ) -> list[Entry]:
        """What lies in the target and does not come from this job, hidden things left out.

        Args:
            below: where the path has variables: how the folders below the target are called that count as it.
            expression: of the sink's file names.
            time_format: what ``${now}`` in it looks like.
        """
        own = re.compile(own_beginning(expression, time_format) + re.escape(self._target.job_id) + OWNER.pattern)
        folders = [self._target.root]
        for pattern in below:
            found = [entry for folder in folders for entry in self._visible(folder)]
            folders = [entry.path for entry in found if pattern.fullmatch(entry.name) and entry.is_folder]
        every = (entry for folder in folders for entry in self._visible(folder))
        return [entry for entry in every if not self._is_own(entry, own)]

    def _visible(self, folder: str) -> list[Entry]:
        return [entry for entry in self._files.entries(folder) if not entry.name.startswith(".")]

    def _is_own(self, entry: Entry, own: re.Pattern[str]) -> bool:
        """Whether it is, or holds, a file that this job published: another pipeline of it may write here too. A folder
        in which the job stages is the target of another of its sinks."""
        if not entry.is_folder or entry.is_link:
            return own.match(entry.name) is not None
        staging = f"/{STAGING}/{self._target.job_id}/"
        return any(
            staging in f"{folder}/" or any(own.match(each.name) for each in found)
            for folder, found in self._files.folders(entry.path)
        )

    # -- taking it away -------------------------------------------------------------------------------------------

    def drop(self, entries: Iterable[Entry]) -> None:
        """Remove them, folders with all that is in them, so that they stay away when the machine crashes.

        Raises:
            SinkError: another engine goes on with the job.
        """
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
            self._require()  # else somebody else has removed it
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
