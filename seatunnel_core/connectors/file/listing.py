"""Selection of the files that a source reads, and the partition keys in their paths."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import field, frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.partition_folders import partitions
from seatunnel_core.quantity import pick


@frozen(kw_only=True)
class Listing:
    """Listing of a folder, with filters. It does not open files."""

    path: str
    recursive: bool = True
    pattern: str | None = None
    """Regular expression for the file name, or for the whole path if it contains a ``/``."""

    extension: str | None = None
    """File extension, such as ``csv`` or ``.csv``; files with other extensions are skipped."""

    partitions: tuple[str, ...] = ()
    """Folders to which files must belong, such as ``year=2013/month=1``; empty for all."""

    modified_from_ns: int | None = None
    """Minimum modification time of files (inclusive), in nanoseconds since 1970."""

    modified_before_ns: int | None = None
    """Maximum modification time of files (exclusive), in nanoseconds since 1970."""

    left_out: str | None = None
    """Prefix of the names of files to skip, such as lock files."""

    watched: bool = False
    """True if the folder is watched, so that the pattern may match nothing yet."""

    within: FileSystem = field(factory=LocalFileSystem)

    def files(self) -> list[FileVersion]:
        """Return the files, sorted by path; raise ``SourceError`` if the path does not exist."""
        return sorted(self.found(), key=lambda version: version.path)

    def found(self) -> Iterator[FileVersion]:
        """Yield the files in no particular order, for callers that need only the first ones."""
        try:
            expression = re.compile(self.pattern) if self.pattern else None
        except re.error as error:
            raise SourceError(
                f"file_filter_pattern {self.pattern!r} is not a regular expression ({error}); for example, "
                "'.*\\.csv' matches all .csv files"
            ) from error
        for version in self._walked():
            if not self._left_out_by(version, expression):
                yield version

    def doubt(self) -> str:
        """Return a warning if there are files but the options skip all of them, and ``""`` otherwise."""
        expression = re.compile(self.pattern) if self.pattern else None
        counts, example = Counter[str](), ""
        for version in self._walked():
            option = self._left_out_by(version, expression)
            if not option:
                return ""
            counts[option] += 1
            example = min(example or version.path, version.path)
        if not counts:
            return ""
        files = pick(counts.total(), "file")
        reasons = ", ".join(f"{option} skips {files:,}" for option, files in counts.items())
        return f"{self.path} has {files}, but all of them are skipped: {reasons}; for example {example}"

    def _walked(self) -> Iterator[FileVersion]:
        return self.within.walk(self.path, recursive=self.recursive, may_be_empty=self.watched)

    def _left_out_by(self, version: FileVersion, expression: re.Pattern[str] | None) -> str:
        """Return the option or name rule that excludes a file; empty if the file is read."""
        name = version.path.rpartition("/")[2]
        subject = version.path if "/" in (self.pattern or "") else name
        if self.extension and not name.endswith(f".{self.extension.lstrip('.')}"):
            return f"filename_extension = {self.extension!r}"
        if self.left_out and name.startswith(self.left_out):
            return f"the name, which starts with {self.left_out},"
        if expression is not None and not expression.fullmatch(subject):
            return f"file_filter_pattern = {self.pattern!r}"
        if self.modified_from_ns is not None and version.mtime_ns < self.modified_from_ns:
            return "file_filter_modified_start"
        if self.modified_before_ns is not None and version.mtime_ns >= self.modified_before_ns:
            return "file_filter_modified_end"
        return "" if self._in_partitions(version) else f"read_partitions = {list(self.partitions)}"

    def _in_partitions(self, version: FileVersion) -> bool:
        folders = f"/{os.path.dirname(version.path)}/"
        return not self.partitions or any(f"/{each.strip('/')}/" in folders for each in self.partitions)


def listing_of(options: Options, files: FileSystem) -> Listing:
    """Return the listing that the options define."""
    return Listing(
        path=files.named(options[opt.PATH]),
        recursive=options[opt.RECURSIVE],
        pattern=options[opt.FILTER],
        extension=options[opt.EXTENSION],
        left_out="~$" if options[opt.FORMAT] == "excel" else None,  # Excel's lock files.
        partitions=tuple(options[opt.READ_PARTITIONS] or ()),
        modified_from_ns=options[opt.MODIFIED_START],
        modified_before_ns=options[opt.MODIFIED_END],
        watched=options[opt.DISCOVERY] == "continuous",
        within=files,
    )


def partition_keys(files: Sequence[FileVersion]) -> tuple[str, ...]:
    """Return the partition keys that the folders of all files have, in the order of first appearance."""
    return tuple(dict.fromkeys(key for version in files for key in partitions(version.path)))
