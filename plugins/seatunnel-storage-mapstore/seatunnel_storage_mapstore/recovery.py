"""Recovery of a map's content from its folder."""

from collections.abc import Iterator

from attrs import frozen

from seatunnel_storage_api.storage import MOST_LISTINGS
from seatunnel_storage_mapstore import frames
from seatunnel_storage_mapstore.folder import SEGMENT, SNAPSHOT, Contents, Folder, Piece
from seatunnel_storage_mapstore.frames import Entry, Frame, Kind


@frozen
class Recovered:
    """Entries of a map, as of one listing."""

    epoch: int
    """Epoch that wrote the entries; 0 if no writer of the map has ever become ready."""

    entries: dict[str, Entry]


class _MovedError(Exception):
    """Error for listed objects that were removed or are incomplete, because a writer is compacting."""


def recover(folder: Folder) -> Recovered:
    """Read the newest snapshot of the newest epoch that has one, and the groups after it.

    A writer must have claimed the map before. If a compaction has removed a listed object, list again.

    Raises:
        CheckpointCorruptedError: A byte is damaged, or a group is missing.
        UnsupportedFormatError: A newer version wrote the map.
    """
    problem = _MovedError()
    for _ in range(MOST_LISTINGS):
        try:
            return _read(folder, folder.contents())
        except _MovedError as error:
            problem = error
    raise frames.damaged(folder.where("log/"), str(problem)) from problem


def _read(folder: Folder, contents: Contents) -> Recovered:
    log = [piece for piece in contents.pieces if piece.kind in (SNAPSHOT, SEGMENT)]
    snapshots = [piece for piece in log if piece.kind == SNAPSHOT]
    if not snapshots:
        if log:
            raise _MovedError(f"there are groups of changes, such as {log[-1].name}, but no earlier snapshot")
        return Recovered(0, {})
    base = snapshots[-1]
    entries: dict[str, Entry] = {}
    _apply(_snapshot(folder, base), entries, folder.where(base.name))
    segments = [piece for piece in log if piece.kind == SEGMENT and piece.epoch == base.epoch]
    following = [piece for piece in segments if piece.number > base.number]
    for segment, frame in _groups(folder, base, following):
        _apply(frame, entries, folder.where(segment.name))
    return Recovered(base.epoch, entries)


def _snapshot(folder: Folder, piece: Piece) -> Frame:
    where = folder.where(piece.name)
    data = memoryview(_present(folder, piece))
    try:
        frame, length = frames.opened(data, map_name=folder.map_name, where=where)
    except frames.IncompleteFrameError as cause:
        raise frames.damaged(where, "the file is truncated") from cause
    if length != len(data):
        raise frames.damaged(where, f"the file is {len(data) - length} bytes too long")
    return _expected(frame, Kind.SNAPSHOT, piece.epoch, piece.number, where)


def _groups(folder: Folder, base: Piece, segments: list[Piece]) -> Iterator[tuple[Piece, Frame]]:
    """Yield all groups after the snapshot, and check that there is no gap."""
    number = base.number
    for segment in segments:
        if segment.number != number + 1:
            raise _MovedError(f"the groups from {number + 1} to {segment.number - 1} of epoch {base.epoch} are missing")
        for frame in _frames(folder, segment, last=segment is segments[-1]):
            number += 1
            yield segment, _expected(frame, Kind.GROUP, base.epoch, number, folder.where(segment.name))


def _frames(folder: Folder, segment: Piece, *, last: bool) -> Iterator[Frame]:
    """Yield the frames of a segment. Only the last segment may end with an incomplete frame; none may start with one.

    A segment is created with its first group, by one atomic put; later groups are appended to it.
    """
    where = folder.where(segment.name)
    data = memoryview(_present(folder, segment).rstrip(b"\0"))
    at = 0
    while at < len(data):
        try:
            frame, length = frames.opened(data[at:], map_name=folder.map_name, where=where)
        except frames.IncompleteFrameError as cause:
            if last and at > 0:
                return
            raise frames.damaged(where, "the file is truncated") from cause
        yield frame
        at += length
    if at == 0:
        raise frames.damaged(where, "it is empty")


def _present(folder: Folder, piece: Piece) -> bytes:
    data = folder.read(piece.name)
    if data is None:
        raise _MovedError(f"{piece.name} was listed {MOST_LISTINGS} times and could not be read")
    return data


def _expected(frame: Frame, kind: Kind, epoch: int, number: int, where: str) -> Frame:
    if (frame.kind, frame.epoch, frame.number) != (kind, epoch, number):
        raise frames.damaged(where, f"it contains group {frame.number} of epoch {frame.epoch} instead of {number}")
    return frame


def _apply(frame: Frame, entries: dict[str, Entry], where: str) -> None:
    for key, entry in frames.changes(frame.body, where):
        if entry is None:
            entries.pop(key, None)
        else:
            entries[key] = entry
