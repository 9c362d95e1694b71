"""Incremental reads of a folder, based on the modification times or names of files.

Reads by time identify the files modified within the last ``lag`` by digests of path and time. Such reads also return
files that arrive late with an older time, and read a changed file again as a whole. Reads by name read each file once,
and never read files that sort before the last path of the previous job.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.increments import INCREMENTAL, Increment, OptionIncrements, digest, require_few
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.values import Cursor, Window
from seatunnel_core.connectors.bounds import Bounds
from seatunnel_core.connectors.file.listing import Listing
from seatunnel_core.connectors.filesystems.filesystem import FileVersion

MODIFIED, NAME = "modified", "name"

_FUTURE_NS = 86_400 * 10**9
"""Maximum clock difference: how far in the future a modification time may be, in nanoseconds."""

_NS = 10**9


@frozen(kw_only=True)
class FileIncrements:
    """A folder that is read incrementally."""

    increment: Increment
    path: str

    @property
    def reads(self) -> dict[str, str]:
        """Return the value of ``Window.reads`` for cursors of this folder."""
        return {"source": "files", "path": self.path, "column": self.increment.column}

    def window(self, files: Sequence[FileVersion], after: Cursor | None) -> Window:
        """Return the window of a job that starts now, from all existing files."""
        new = (self._value(each) for each in files if self._bounds.is_new(*self._known(each), after))
        last = self._bounds.last(new, after)
        if last is None:
            return Window(reads=self.reads, after=after)
        self._refuse_future(last)
        since = self._behind(last)
        zone = frozenset(self._digest(each) for each in files if since <= self._value(each) <= last)
        require_few(zone, f"the files of {self.path} within the lag")
        upto = Cursor(value=self._written(last), since=self._written(since), delivered=zone)
        return Window(reads=self.reads, after=after, upto=upto)

    def has(self, file: FileVersion, window: Window) -> bool:
        """Return True if a file belongs to the window. Files that arrive after planning belong to the next window."""
        return self._bounds.has(*self._known(file), window)

    @property
    def _bounds(self) -> Bounds:
        return Bounds(read=self._read, start=self.increment.start)

    def _known(self, file: FileVersion) -> tuple[Any, str]:
        return self._value(file), self._digest(file)

    @property
    def _by_name(self) -> bool:
        return self.increment.column == NAME

    def _value(self, file: FileVersion) -> Any:
        return file.path if self._by_name else file.mtime_ns

    def _digest(self, file: FileVersion) -> str:
        return digest([file.path] if self._by_name else [file.path, file.mtime_ns])

    def _behind(self, value: Any) -> Any:
        return value if self._by_name else value - self.increment.lag_ms * 1_000_000

    def _written(self, value: Any) -> str:
        """Return a value in its stored form: a path, or a time in UTC with all digits."""
        if self._by_name:
            return str(value)
        moment = datetime.fromtimestamp(value // _NS, UTC).replace(tzinfo=None)
        return f"{moment.isoformat(sep=' ')}.{value % _NS:09d}Z"

    def _read(self, text: str) -> Any:
        """Parse a string from ``_written`` or from the user; a time without a zone is in UTC."""
        if self._by_name:
            return text
        seconds, _, digits = text.strip().removesuffix("Z").partition(".")
        try:
            moment = datetime.fromisoformat(seconds)
            fraction = int(digits.ljust(9, "0")[:9]) if digits else 0
        except ValueError as error:
            raise SourceError(
                f"option 'incremental': {text!r} is not a valid time; write it in the form 2026-01-31 12:00:00, in UTC"
            ) from error
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return int(moment.timestamp()) * _NS + fraction

    def require_start(self) -> None:
        """Raise ``SourceError`` if ``start`` is invalid."""
        if self.increment.start is not None:
            self._read(self.increment.start)

    def _refuse_future(self, last: Any) -> None:
        if not self._by_name and last > time.time_ns() + _FUTURE_NS:
            raise SourceError(
                f"a file of {self.path} was modified at {self._written(last)}, which is in the future. With this "
                "time as the cursor, the next job would skip all files modified before it. Correct the time of the "
                "file (touch), or exclude the file with file_filter_pattern"
            )


def file_increments(increment: Increment, path: str) -> FileIncrements:
    """Return the increments of a folder; raise ``UsageError`` if options contradict each other."""
    if increment.column not in (MODIFIED, NAME):
        raise UsageError(
            f"option 'incremental': files have no column {increment.column!r}; set column to {MODIFIED} "
            f"(modification time) or {NAME}"
        )
    if increment.key or increment.skips_nulls:
        raise UsageError(
            "option 'incremental': key and nulls apply only to tables; files are identified by path and time"
        )
    if increment.column == NAME and increment.lag.strip("0"):
        raise UsageError(
            "option 'incremental': lag is not supported for file names; remove it, or set column to modified"
        )
    found = FileIncrements(increment=increment, path=path)
    found.require_start()
    return found


class IncrementalFiles(OptionIncrements[FileIncrements]):
    """Mixin for file sources that read incrementally."""

    _listing: Listing

    def _begin_increments(self, options: Options, listing: Listing) -> None:
        """Store the options for incremental reads; raise ``UsageError`` if the options contradict each other."""
        increment: Increment | None = options.get(INCREMENTAL.key)
        if increment is not None and listing.watched:
            raise UsageError(
                "option 'incremental': a watched folder already records its files; remove incremental or discovery_mode"
            )
        self._increments = None if increment is None else file_increments(increment, listing.path)
        self._window = None

    def window(self, after: Cursor | None) -> Window:
        return self._asked_increments().window(self._listing.files(), after)

    def _files_to_read(self) -> Sequence[FileVersion]:
        files, increments, window = self._listing.files(), self._increments, self._window
        if increments is None or window is None:
            return files
        return [each for each in files if increments.has(each, window)]
