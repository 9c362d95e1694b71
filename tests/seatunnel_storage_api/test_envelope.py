"""The seal: any change to any byte is noticed, and nothing else is said about intact bytes."""

import hashlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_storage_api import envelope
from seatunnel_storage_api.errors import CheckpointCorruptedError, UnsupportedFormatError


def opened(sealed: bytes) -> envelope.Opened:
    return envelope.unseal(sealed, kind="checkpoint", where="/ns/x (test)")


def handmade(header: bytes, body: bytes = b"", *, version: int = 1, magic: bytes = envelope.MAGIC) -> bytes:
    """A seal of anything at all, with a digest that is right."""
    content = magic + struct.pack(">HI", version, len(header)) + header + body
    return content + hashlib.sha256(content).digest()


@given(st.binary(max_size=300))
def test_what_was_sealed_comes_out(body: bytes) -> None:
    result = opened(envelope.seal("checkpoint", body, job_id="job"))
    assert result.body == body
    assert result.header["job_id"] == "job"
    assert result.header["length"] == len(body)
    assert result.header["library"] == envelope.library_version()
    assert isinstance(result.header["created_at_ms"], int)


def test_the_states_are_in_no_repr() -> None:
    assert "secret" not in repr(opened(envelope.seal("checkpoint", b"secret")))


def test_every_single_bit_counts() -> None:
    sealed = envelope.seal("checkpoint", b"body")
    for position in range(len(sealed)):
        for bit in range(8):
            flipped = bytearray(sealed)
            flipped[position] ^= 1 << bit
            with pytest.raises(CheckpointCorruptedError):
                opened(bytes(flipped))


@given(st.data())
def test_bytes_cut_out_or_put_in_are_noticed(data: st.DataObject) -> None:
    sealed = envelope.seal("checkpoint", b"a body of some length")
    start = data.draw(st.integers(0, len(sealed)))
    end = data.draw(st.integers(start, len(sealed)))
    changed = sealed[:start] + data.draw(st.binary(max_size=40)) + sealed[end:]
    if changed != sealed:
        with pytest.raises(CheckpointCorruptedError):
            opened(changed)


def test_two_seals_of_the_same_differ() -> None:
    assert envelope.seal("epoch", b"") != envelope.seal("epoch", b"")


@pytest.mark.parametrize(
    ("sealed", "says"),
    [
        (b"", "0 bytes"),
        (handmade(b"{}", magic=b"\x89SeaTunnel??"), "does not start"),
        (handmade(b"{"), "not JSON"),
        (handmade(b"\xff"), "not JSON"),
        (handmade(b"[]"), "not a JSON object"),
        (handmade(b"{}"), "does not describe"),
        (handmade(json.dumps({"kind": "checkpoint", "length": 3}).encode(), b"four"), "does not describe"),
        (handmade(json.dumps({"kind": "manifest", "length": 0}).encode()), "does not describe"),
        (envelope.MAGIC + struct.pack(">HI", 1, 2**31), "fewer"),
        (handmade(b"")[:-32] + b"x" * 32, "SHA-256"),
    ],
)
def test_what_is_no_seal_of_ours_is_damage(sealed: bytes, says: str) -> None:
    with pytest.raises(CheckpointCorruptedError, match=says) as caught:
        opened(sealed)
    assert "/ns/x (test)" in str(caught.value)


def test_a_header_that_claims_to_be_longer_than_the_object() -> None:
    content = envelope.MAGIC + struct.pack(">HI", 1, 2**31) + b"{}"
    with pytest.raises(CheckpointCorruptedError):
        opened(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(
    "sealed",
    [
        handmade(b"from the future", version=2),
        handmade(json.dumps({"kind": "checkpoint", "length": 0, "codec": "zstd"}).encode()),
    ],
    ids=["version", "codec"],
)
def test_a_newer_format_is_not_called_damage(sealed: bytes) -> None:
    with pytest.raises(UnsupportedFormatError, match=r"newer"):
        opened(sealed)


def test_code_that_runs_without_being_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert envelope.library_version.__wrapped__() == "unknown"
