"""Detection of new files in a watched folder, and its state.

A file is identified by a hash of its path, regardless of its modification time: an ``a.csv`` that arrives after
``b.csv`` is still found. It is read only once, after two listings that are a scan interval apart have shown the same
size and time. The state drops a file that is missing in two listings, so its size depends only on the number of files
in the folder.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connectors.file import marks
from seatunnel_core.connectors.file.marks import NAME_BYTES, STATE_BYTES, Marks, Runs
from seatunnel_core.connectors.filesystems.filesystem import FileVersion

MOST_FILES = 5_000
"""Maximum number of files in one poll. Every checkpoint contains them until their splits are read."""

IN_PROGRESS = (".tmp", ".part", ".inprogress", "._COPYING_", "~")
"""File name extensions of files that are still being written."""

_NAMED = 5
"""Maximum number of files listed in a warning."""


@frozen(kw_only=True)
class Memory:
    """State of a watched folder: 16 bytes per file."""

    seen: Marks = field(factory=dict)
    """Files that a poll has returned for reading and that the last listing contains."""

    missing: Marks = field(factory=dict)
    """Files that a poll has returned for reading but that the last listing lacks."""

    ready: Marks = field(factory=dict)
    """Files that were listed at least twice in their current state but that no poll has returned yet."""

    fresh: Marks = field(factory=dict)
    """Files that were listed once in their current state."""

    listed_ms: int | None = None
    """Time of the last listing recorded in this state, in milliseconds since 1970; ``None`` before the first."""

    runs: Mapping[str, Runs] = field(factory=dict, eq=False, repr=False)
    """Stored runs of each set of files; see ``marks``."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Memory":
        """Return the state in a checkpoint; raise ``StoredValueError`` if the values are invalid."""
        if not body:
            return cls()
        sets = {name: marks.read(body, name) for name in _SETS}
        return cls(
            **{name: found for name, (found, _) in sets.items()},
            listed_ms=stored.number(body, "listed_ms"),
            runs={name: runs for name, (_, runs) in sets.items()},
        )

    def body(self) -> dict[str, Any]:
        """Return the state for a checkpoint: JSON values, and bytes for data that is stored only once."""
        sets = {name: marks.written(getattr(self, name), self.runs.get(name, ())) for name in _SETS}
        return {**sets, "listed_ms": self.listed_ms}


_SETS = ("seen", "missing", "ready", "fresh")


@frozen(kw_only=True)
class Watch:
    """Settings of a watched folder."""

    interval_ms: int
    from_now_on: bool = False
    """True to treat the files of the first listing as already read."""

    most: int = MOST_FILES

    def poll(self, listing: Iterable[FileVersion], memory: Memory, now_ms: int) -> "FolderChanges":
        """Compare a complete listing with the state, and return the changes."""
        listed = {
            _name(version.path): (_state(version), version)
            for version in listing
            if not version.path.endswith(IN_PROGRESS)
        }
        if memory.listed_ms is None and self.from_now_on:
            memory = evolve(memory, seen={name: state for name, (state, _) in listed.items()}, listed_ms=now_ms)
        elif memory.listed_ms is None or abs(now_ms - memory.listed_ms) >= self.interval_ms:
            memory = evolve(_advanced(memory, listed), listed_ms=now_ms)
        changed = [name for name in listed if _is_other(memory.seen, name, listed)]
        ready = [name for name in memory.ready if name in listed and not _is_other(memory.ready, name, listed)]
        taken = sorted(ready, key=lambda name: (listed[name][1].mtime_ns, listed[name][1].path))[: self.most]
        left = {name: memory.ready[name] for name in set(ready) - set(taken)}
        memory = evolve(memory, seen={**memory.seen, **_states(listed, [*taken, *changed])}, ready=left)
        assert memory.listed_ms is not None
        return FolderChanges(
            taken=tuple(listed[name][1] for name in taken),
            changed=tuple(sorted(listed[name][1].path for name in changed)),
            memory=memory,
            again_ms=0 if left else max(1, self.interval_ms - abs(now_ms - memory.listed_ms)),
        )


@frozen(kw_only=True)
class FolderChanges:
    """Result of one poll of a folder."""

    taken: tuple[FileVersion, ...]
    """Files to read, oldest first."""

    changed: tuple[str, ...]
    """Paths of files that have changed since a poll returned them for reading."""

    memory: Memory
    again_ms: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about changed files, if any."""
        if not self.changed:
            return ()
        more = len(self.changed) - _NAMED
        named = ", ".join(self.changed[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return (
            f"these files changed after they were read, and are not read again: {named}. Write new rows into new files",
        )


Listed = Mapping[bytes, tuple[bytes, FileVersion]]


def _advanced(memory: Memory, listed: Listed) -> Memory:
    """Return the state after another scan interval. An empty listing changes nothing: the disk may be unmounted."""
    if not listed:
        return memory
    known = {**memory.missing, **memory.seen}
    unread = [name for name, (_, version) in listed.items() if name not in known and version.size]
    ready = [name for name in unread if memory.fresh.get(name, memory.ready.get(name)) == listed[name][0]]
    return evolve(
        memory,
        seen={name: state for name, state in known.items() if name in listed},
        missing={name: state for name, state in memory.seen.items() if name not in listed},
        ready=_states(listed, ready),
        fresh=_states(listed, set(unread) - set(ready)),
    )


def _states(listed: Listed, names: Iterable[bytes]) -> dict[bytes, bytes]:
    return {name: listed[name][0] for name in names}


def _is_other(known: Marks, name: bytes, listed: Listed) -> bool:
    return known.get(name, listed[name][0]) != listed[name][0]


def _name(path: str) -> bytes:
    return blake2b(path.encode(errors="surrogateescape"), digest_size=NAME_BYTES).digest()


def _state(version: FileVersion) -> bytes:
    return blake2b(f"{version.size} {version.mtime_ns}".encode(), digest_size=STATE_BYTES).digest()
