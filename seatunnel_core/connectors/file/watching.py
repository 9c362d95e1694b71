"""Finding the new files of a watched folder, and what must be remembered to do so.

A file is identified by a hash of its path, whatever its time is: a late ``a.csv`` is found after ``b.csv``. It is read
once it was listed twice, the scan interval apart, with the same size and time, and it is read only once. A file that
has disappeared is forgotten after two further listings, so the memory is about as long as the folder.
"""

import binascii
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core import stored
from seatunnel_core.connectors.filesystems.filesystem import FileVersion
from seatunnel_core.errors import StoredValueError

MOST_FILES = 5_000
"""How many files one poll takes up: until their splits are emitted, they are part of every checkpoint."""

IN_PROGRESS = (".tmp", ".part", ".inprogress", "._COPYING_", "~")
"""Endings of the names that files have while they are being written."""

_NAME_BYTES = 12
"""96 bits: among a million files, two have the same name once in a hundred thousand million million tries."""

_STATE_BYTES = 4
_NAMED = 5
"""How many files a warning names."""

Marks = Mapping[bytes, bytes]
"""Hashes of paths, each with a hash of size and time."""


@frozen(kw_only=True)
class Memory:
    """What is remembered of a folder: 22 characters a file."""

    seen: Marks = field(factory=dict)
    """Taken up, and in the last listing."""

    missing: Marks = field(factory=dict)
    """Taken up, and missing in the last listing."""

    ready: Marks = field(factory=dict)
    """Listed twice in this state, and not taken up yet."""

    fresh: Marks = field(factory=dict)
    """Listed once in this state."""

    listed_ms: int | None = None
    """When the last listing that counts took place, in milliseconds since 1970; ``None`` before the first."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Memory":
        """Return the memory that a checkpoint holds.

        Raises:
            StoredValueError: it holds something else.
        """
        if not body:
            return cls()
        return cls(
            **{name: _unpacked(stored.text(body, name)) for name in _SETS},
            listed_ms=stored.number(body, "listed_ms"),
        )

    def body(self) -> dict[str, Any]:
        """Return the memory as JSON values, for a checkpoint."""
        return {**{name: _packed(getattr(self, name)) for name in _SETS}, "listed_ms": self.listed_ms}


_SETS = ("seen", "missing", "ready", "fresh")


@frozen(kw_only=True)
class Watch:
    """How a folder is watched."""

    interval_ms: int
    from_now_on: bool = False
    """Whether files of the first listing count as read."""

    most: int = MOST_FILES
    """How many files one poll takes up."""

    def poll(self, listing: Iterable[FileVersion], memory: Memory, now_ms: int) -> "FolderChanges":
        """Compare a complete listing with the memory, and return what has changed."""
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
    """The result of one poll of a folder."""

    taken: tuple[FileVersion, ...]
    """The files to read, the oldest first."""

    changed: tuple[str, ...]
    """The paths of files that have changed since they were taken up."""

    memory: Memory
    again_ms: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning that names changed files, if there are any."""
        if not self.changed:
            return ()
        more = len(self.changed) - _NAMED
        named = ", ".join(self.changed[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return (f"changed after it was taken up, and is not read again: {named}. Write new rows into new files",)


Listed = Mapping[bytes, tuple[bytes, FileVersion]]


def _advanced(memory: Memory, listed: Listed) -> Memory:
    """Return the memory after another interval.

    An empty listing changes nothing: the disk of the folder may be unmounted.
    """
    if not listed:
        return memory
    known = {**memory.missing, **memory.seen}
    unread = [name for name, (_, version) in listed.items() if name not in known and version.size]
    ready = [name for name in unread if memory.fresh.get(name, memory.ready.get(name)) == listed[name][0]]
    return Memory(
        seen={name: state for name, state in known.items() if name in listed},
        missing={name: state for name, state in memory.seen.items() if name not in listed},
        ready=_states(listed, ready),
        fresh=_states(listed, set(unread) - set(ready)),
    )


def _states(listed: Listed, names: Iterable[bytes]) -> dict[bytes, bytes]:
    return {name: listed[name][0] for name in names}


def _is_other(marks: Marks, name: bytes, listed: Listed) -> bool:
    return marks.get(name, listed[name][0]) != listed[name][0]


def _name(path: str) -> bytes:
    return blake2b(path.encode(errors="surrogateescape"), digest_size=_NAME_BYTES).digest()


def _state(version: FileVersion) -> bytes:
    return blake2b(f"{version.size} {version.mtime_ns}".encode(), digest_size=_STATE_BYTES).digest()


def _packed(marks: Marks) -> str:
    """Encode marks as base64, sorted by name, so that equal memories have equal bytes."""
    return b64encode(b"".join(name + marks[name] for name in sorted(marks))).decode()


def _unpacked(text: str) -> Marks:
    size = _NAME_BYTES + _STATE_BYTES
    try:
        packed = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (ValueError, UnicodeEncodeError) as error:
        raise StoredValueError(f"what is remembered of files is not base64: {error}") from error
    if len(packed) % size:
        raise StoredValueError(f"what is remembered of files has {len(packed)} bytes, which is no multiple of {size}")
    records = (packed[start : start + size] for start in range(0, len(packed), size))
    return {record[:_NAME_BYTES]: record[_NAME_BYTES:] for record in records}
