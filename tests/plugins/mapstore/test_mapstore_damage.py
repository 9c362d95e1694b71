"""Torn, flipped, missing and hostile bytes beneath a map: told, or known to be what nobody was told of."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seatunnel_storage_mapstore import frames
from seatunnel_storage_mapstore.folder import Folder
from seatunnel_storage_mapstore.frames import Kind
from seatunnel_storage_mapstore.recovery import recover

from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.memory import MemoryStorage
from tests.plugins.mapstore import mapstore_files
from tests.plugins.mapstore.mapstore_files import LARGE, Open, content, log_files, read

opened = mapstore_files.opened


def test_a_tail_torn_at_any_byte_loses_only_what_was_not_acknowledged(opened: Open, tmp_path: Path) -> None:
    """As after a crash within the last write; also where the file system shows zeros for what was not written."""
    store = opened()
    ends = []
    for number in range(3):
        store.store("a", b"%d" % number)
        ends.append(log_files(tmp_path, ".segment")[0].stat().st_size)
    (segment,) = log_files(tmp_path, ".segment")
    whole = segment.read_bytes()
    for cut in range(ends[0], ends[2] + 1):
        for tail in (b"", b"\0" * 7):
            segment.write_bytes(whole[:cut] + tail)
            acknowledged = sum(end <= cut for end in ends)
            assert read(store) == {"a": b"%d" % (acknowledged - 1)}
    segment.write_bytes(whole[: ends[1] + 5])
    again = opened()
    again.store("b", b"after the tear")
    assert content(opened()) == {"a": b"1", "b": b"after the tear"}


def test_a_flipped_byte_anywhere_is_damage(opened: Open, tmp_path: Path) -> None:
    store = opened()
    store.store_all({"a": b"1", "large": LARGE})
    store.store("b", b"2")
    values = list((tmp_path / "map/values").glob("*.value"))
    for path in [*log_files(tmp_path), *values]:
        whole = path.read_bytes()
        for position in {*range(0, len(whole), 1 + len(whole) // 100), len(whole) - 1}:
            path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x20]) + whole[position + 1 :])
            with pytest.raises(CheckpointCorruptedError) as caught:
                read(store)
            assert str(path) in str(caught.value)
        path.write_bytes(whole)
    assert content(opened()) == {"a": b"1", "b": b"2", "large": LARGE}


def test_what_is_missing_or_elsewhere_is_damage(opened: Open, tmp_path: Path) -> None:
    store = opened(append=False)
    for key in ("a", "b", "c"):
        store.store(key, key.encode())
    store.destroy()
    snapshot, *groups = sorted(log_files(tmp_path), key=lambda path: path.suffix != ".snapshot")
    cases: list[tuple[Path, bytes | None]] = [
        (snapshot, None),
        (groups[0], None),
        (groups[1], groups[0].read_bytes()),
        (groups[1], b""),
        (groups[1], groups[1].read_bytes()[:-3]),
        (groups[2], groups[2].read_bytes()[:-3]),
        (snapshot, snapshot.read_bytes()[:-3]),
        (snapshot, snapshot.read_bytes() + b"\n"),
        (groups[2], b"A" * 2**12),
    ]
    for path, body in cases:
        whole = path.read_bytes()
        if body is None:
            path.unlink()
        else:
            path.write_bytes(body)
        with pytest.raises(CheckpointCorruptedError, match="is damaged"):
            opened().open()
        path.write_bytes(whole)
    assert len(content(opened())) == 3


def test_a_frame_of_another_map_or_of_a_newer_version(opened: Open, tmp_path: Path) -> None:
    store = opened()
    store.store("a", b"1")
    store.destroy()
    (segment,) = log_files(tmp_path, ".segment")
    body = [frames.record("a", b"2")]
    segment.write_bytes(frames.sealed(Kind.GROUP, body, map_name="other", epoch=1, number=1))
    with pytest.raises(CheckpointCorruptedError, match="another map"):
        opened().open()
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(frames, "FORMAT_VERSION", 7)
        segment.write_bytes(frames.sealed(Kind.GROUP, body, map_name="map", epoch=1, number=1))
    with pytest.raises(UnsupportedFormatError, match="version 7"):
        opened().open()


@pytest.mark.parametrize(
    "body",
    [
        b"\x01",
        b"\x01\0\1\xff\xff\xff\xffa",
        b"\x09\0\1\0\0\0\0a",
        b"\x00\0\1\0\0\0\1ab",
        b"\x02\0\1\0\0\0\1ab",
        b"\x01\0\1\0\0\0\0\xff",
    ],
    ids=["cut", "length", "operation", "removal with a value", "cut remote", "text"],
)
def test_records_that_a_checksum_cannot_refuse(body: bytes) -> None:
    """Intact bytes that mean nothing: nothing is taken for a value, and no memory by a length that is not there."""
    with pytest.raises(CheckpointCorruptedError):
        list(frames.changes(memoryview(body), "here"))


@pytest.mark.fuzz
@given(st.binary(max_size=60))
def test_any_intact_body_is_changes_or_damage(body: bytes) -> None:
    """A checksum can be made by anybody; what is behind it is read with the same care."""
    sealed = frames.sealed(Kind.GROUP, [body], map_name="map", epoch=1, number=1)
    frame, length = frames.opened(memoryview(sealed), map_name="map", where="here")
    assert length == len(sealed)
    try:
        for key, entry in frames.changes(frame.body, "here"):
            assert frames.record(key, entry) in body
    except CheckpointCorruptedError:
        pass


SNAPSHOT = frames.sealed(Kind.SNAPSHOT, [], map_name="map", epoch=1, number=0)
GROUPS = [
    frames.sealed(Kind.GROUP, [frames.record("key", b"%d" % number * 9)], map_name="map", epoch=1, number=number)
    for number in (1, 2, 3)
]
SEGMENT = b"".join(GROUPS)
EDITS = st.tuples(st.integers(0, len(SEGMENT)), st.integers(0, 40), st.binary(max_size=40))


@pytest.mark.fuzz
@given(st.lists(EDITS, min_size=1, max_size=3))
def test_an_edited_segment_is_damage_or_a_beginning_of_what_was_written(edits: list[tuple[int, int, bytes]]) -> None:
    segment = SEGMENT
    for position, removed, inserted in edits:
        segment = segment[:position] + inserted + segment[position + removed :]
    folder = Folder(MemoryStorage(), "map/")
    folder.put("log/0000000001-00000000000000000000.snapshot", SNAPSHOT, epoch=1)
    folder.put("log/0000000001-00000000000000000001.segment", segment, epoch=1)
    try:
        entries = recover(folder).entries
    except (CheckpointCorruptedError, UnsupportedFormatError):
        return
    assert entries in [{"key": b"%d" % number * 9} for number in (1, 2, 3)]
