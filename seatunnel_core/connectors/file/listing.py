"""Selecting the files that a source reads, and the partition keys in their paths."""

import os
import re
from collections.abc import Iterator, Sequence

from attrs import field, frozen

from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.partition_folders import partitions
from seatunnel_core.errors import SourceError


@frozen(kw_only=True)
class Listing:
    """How files are listed. No file is opened."""

    path: str
    recursive: bool = True
    pattern: str | None = None
    """A regular expression for the name, or for the whole path when it contains a ``/``."""

    extension: str | None = None
    """``csv`` or ``.csv``: other files are left out."""

    partitions: tuple[str, ...] = ()
    """Only files below one of these folders, such as ``year=2013/month=1``; empty for all."""

    modified_from_ns: int | None = None
    """Only files that were last changed then or later: nanoseconds since 1970."""

    modified_before_ns: int | None = None
    """Only files that were last changed before."""

    left_out: str | None = None
    """Files whose names begin with this are left out, such as the lock files of a program."""

    watched: bool = False
    """Whether a pattern may match nothing yet."""

    within: FileSystem = field(factory=LocalFileSystem)

    def files(self) -> list[FileVersion]:
        """Return the files, sorted by path; none for an empty folder.

        Raises:
            SourceError: the path does not exist or cannot be listed, or the pattern is not a regular expression.
        """
        return sorted(self.found(), key=lambda version: version.path)

    def found(self) -> Iterator[FileVersion]:
        """Yield the files in no order, for callers to which the first ones are enough.

        Raises:
            SourceError: as ``files``.
        """
        try:
            expression = re.compile(self.pattern) if self.pattern else None
        except re.error as error:
            raise SourceError(
                f"file_filter_pattern {self.pattern!r} is not a regular expression ({error}); for all .csv files write "
                "'.*\\.csv'"
            ) from error
        suffix = f".{self.extension.lstrip('.')}" if self.extension else ""
        for version in self.within.walk(self.path, recursive=self.recursive, may_be_empty=self.watched):
            name = version.path.rpartition("/")[2]
            subject = version.path if "/" in (self.pattern or "") else name
            if (
                name.endswith(suffix)
                and not (self.left_out and name.startswith(self.left_out))
                and (expression is None or expression.fullmatch(subject))
                and self._in_time(version)
                and self._in_partitions(version)
            ):
                yield version

    def _in_time(self, version: FileVersion) -> bool:
        late_enough = self.modified_from_ns is None or version.mtime_ns >= self.modified_from_ns
        return late_enough and (self.modified_before_ns is None or version.mtime_ns < self.modified_before_ns)

    def _in_partitions(self, version: FileVersion) -> bool:
        folders = f"/{os.path.dirname(version.path)}/"
        return not self.partitions or any(f"/{each.strip('/')}/" in folders for each in self.partitions)


def partition_keys(files: Sequence[FileVersion]) -> tuple[str, ...]:
    """Return the keys in the folders of all files, in the order in which they first appear."""
    return tuple(dict.fromkeys(key for version in files for key in partitions(version.path)))
