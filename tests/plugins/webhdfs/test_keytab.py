"""Reading whose keys a keytab holds."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.clients.keytab import KeytabEntry, entries

HEAD = b"\x05\x02"


def record(realm: str, *name: str, version: int = 1, wide_version: int | None = None) -> bytes:
    """One key, as MIT's documentation says that it is written."""
    texts = b"".join(struct.pack(">H", len(text.encode())) + text.encode() for text in (realm, *name))
    key = struct.pack(">H", 18) + struct.pack(">H", 32) + bytes(32)
    wide = b"" if wide_version is None else struct.pack(">I", wide_version)
    body = struct.pack(">H", len(name)) + texts + struct.pack(">IIB", 1, 1_700_000_000, version) + key + wide
    return struct.pack(">i", len(body)) + body


def test_all_principals_with_the_numbers_of_their_keys() -> None:
    content = HEAD + record("TEST.LOCAL", "alice") + record("TEST.LOCAL", "HTTP", "host.example.org", version=7)
    assert entries(content) == (
        KeytabEntry("alice@TEST.LOCAL", 1),
        KeytabEntry("HTTP/host.example.org@TEST.LOCAL", 7),
    )


@pytest.mark.parametrize(("wide_version", "expected"), [(None, 5), (0, 5), (261, 261)])
def test_the_wide_number_outweighs_the_narrow_one(wide_version: int | None, expected: int) -> None:
    (entry,) = entries(HEAD + record("R", "a", version=5, wide_version=wide_version))
    assert entry.version == expected


def test_holes_are_passed_over() -> None:
    hole = struct.pack(">i", -20) + bytes(20)
    assert [entry.principal for entry in entries(HEAD + hole + record("R", "a") + hole)] == ["a@R"]


def test_a_keytab_may_hold_nothing() -> None:
    assert entries(HEAD) == ()


@pytest.mark.parametrize("content", [b"", b"\x05", b"\x05\x01", b"-----BEGIN"])
def test_what_does_not_begin_so_is_no_keytab(content: bytes) -> None:
    with pytest.raises(ValueError, match="the version bytes at its start are wrong"):
        entries(content)


def test_each_missing_byte_is_seen() -> None:
    whole = HEAD + record("TEST.LOCAL", "alice")
    for length in range(len(HEAD) + 1, len(whole)):
        with pytest.raises(ValueError, match="incomplete"):
            entries(whole[:length])


@given(st.binary(max_size=200))
def test_any_bytes_are_a_keytab_or_refused(rest: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert all("@" in entry.principal for entry in entries(HEAD + rest))
