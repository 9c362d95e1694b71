"""Values of stored JSON are what their reader expects, or an error that says what they are not."""

import pytest

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError


@pytest.mark.parametrize(
    "encoded",
    [b"", b"\xff", b"{", b"NaN", b"[-Infinity]", b"1e999", b"-1e999", b"[" * 100_000, b"1" * 5_000, b"1 2"],
)
def test_what_is_not_json_is_refused(encoded: bytes) -> None:
    with pytest.raises(StoredValueError, match="not JSON: "):
        stored.parse(encoded)


def test_values_are_given_as_they_are() -> None:
    block = stored.parse('{"n": 7, "f": true, "t": "é", "l": ["a"], "b": {"k": 1.5}, "p": "\\udce9"}'.encode())
    assert (stored.number(block, "n"), stored.flag(block, "f"), stored.text(block, "t")) == (7, True, "é")
    assert (stored.items(block, "l"), stored.texts(block, "l"), stored.below(block, "b")) == (["a"], ["a"], {"k": 1.5})
    assert stored.string({"s": "\ud800"}, "s") == "\ud800"
    assert (stored.path(block, "p"), stored.paths({"p": ["/a"]}, "p")) == ("\udce9", ["/a"])


@pytest.mark.parametrize(
    ("read", "value"),
    [
        *((stored.number, value) for value in (None, True, 1.0, "1", -1, stored.MOST + 1, [])),  # type: ignore[var-annotated]
        *((stored.flag, value) for value in (None, 0, 1, "true")),
        *((stored.text, value) for value in (None, 1, "\ud800", "\udcff", ["a"])),
        *((stored.string, value) for value in (None, 1, b"a")),
        *((stored.path, value) for value in (None, 1, "\ud800", "a\0b", b"a")),
        *((stored.items, value) for value in (None, "ab", {})),  # type: ignore[var-annotated]
        *((stored.texts, value) for value in ("ab", [1], ["a", None], ["\ud800"])),
        *((stored.paths, value) for value in ("ab", [1], ["a\0"])),
        *((stored.below, value) for value in (None, [], "a", {"\ud800": 1})),  # type: ignore[var-annotated]
    ],
)
def test_a_wrong_value_is_refused_and_named(read, value) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StoredValueError, match="'key'"):
        read({"key": value}, "key")


@pytest.mark.parametrize("block", [None, 7, "text", ["key"], b"key"])
def test_a_value_is_taken_out_of_a_block_only(block: object) -> None:
    with pytest.raises(StoredValueError, match="expected a block with 'key', found "):
        stored.member(block, "key")
    with pytest.raises(StoredValueError, match="'key' is missing"):
        stored.member({}, "key")


def test_a_long_value_is_not_repeated() -> None:
    with pytest.raises(StoredValueError) as raised:
        stored.number({"key": "x" * 10_000}, "key")
    assert len(str(raised.value)) < 200
