"""MySQL's binary JSON: documents, numbers, SQL values in them, changes."""

import copy
import json
import math
import struct
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.mysql_log.values.json_changes import changed_document
from seatunnel_core.connectors.mysql_log.values.json_document import TextBuilderOf57, document, quoted
from seatunnel_core.connectors.mysql_log.values.json_number import double_text
from seatunnel_core.connectors.mysql_log.values.packed_decimal import decimal_text
from tests.connectors.mysql_log import binary_json
from tests.connectors.mysql_log.encoder import decimal, packed_bytes

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=15,
)


@pytest.mark.fuzz
@given(documents, st.booleans())
def test_documents_are_read(value: Any, large: bool) -> None:
    found = document(binary_json.document(value, large=large))
    assert json.loads(found) == value


@pytest.mark.fuzz
@given(documents, st.data())
def test_damaged_documents_are_an_error_or_another_document(value: Any, data: st.DataObject) -> None:
    """Without the event's checksum, another number is another number; but nothing else than our errors is raised."""
    damaged = bytearray(binary_json.document(value))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        found = document(cut)
    except LogError:
        return
    assert isinstance(found, str)


def test_a_document_that_contains_itself_is_an_error() -> None:
    endless = b"\2" + struct.pack("<HHBH", 1, 7, 2, 0)
    with pytest.raises(MalformedLogError, match="nested more than 100 levels"):
        document(endless)


def test_texts_and_parts_that_end_behind_the_document_are_an_error() -> None:
    for data in (b"\x0c\5abc", b"\2\1\0\x09\0\4\1\0", b"\2\5\0\5\0\4", b"\x0c\xff\xff\xff\xff\xff\1"):
        with pytest.raises(MalformedLogError, match="is damaged"):
            document(data)


def test_texts_are_as_mysql_prints_them() -> None:
    value = {"bb": [1, -2.5, None, True, False, 1.0, 1e100], "a": {}, "": 'x"\\\n\t\x01\x7fä', "c": []}
    assert document(binary_json.document(value)) == (
        '{"": "x\\"\\\\\\n\\t\\u0001\x7fä", "a": {}, "c": [], "bb": [1, -2.5, null, true, false, 1.0, 1e100]}'
    )
    assert document(binary_json.document([1.0, 0.0, 1.5]), TextBuilderOf57) == "[1, 0, 1.5]"
    assert document(b"") == "null"


def packed_time(year: int, month: int, day: int, hour: int, minute: int, second: int, micros: int) -> bytes:
    whole = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
    return struct.pack("<q", whole << 24 | micros)


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (246, bytes([10, 2]) + decimal("-12.50", 10, 2), "-12.50"),
        (246, bytes([30, 30]) + decimal("0." + "0" * 29 + "1", 30, 30), "0." + "0" * 29 + "1"),
        (10, packed_time(2024, 2, 29, 0, 0, 0, 0), '"2024-02-29"'),
        (12, packed_time(2024, 2, 29, 12, 13, 14, 5), '"2024-02-29 12:13:14.000005"'),
        (7, packed_time(1, 1, 1, 0, 0, 0, 0), '"0001-01-01 00:00:00.000000"'),
        (11, packed_time(0, 0, 0, 23, 59, 59, 999_999), '"23:59:59.999999"'),
        (11, struct.pack("<q", -(((838 << 12 | 59 << 6 | 59) << 24) | 1)), '"-838:59:59.000001"'),
        (15, b"abc", '"base64:type15:YWJj"'),
        (252, b"\xff", '"base64:type252:/w=="'),
    ],
)
def test_values_of_sql_are_as_mysql_prints_them(kind: int, value: bytes, shown: str) -> None:
    assert document(binary_json.document([bytes([kind]) + value])) == f"[{shown}]"


def test_unknown_types_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedLogError, match="type 13"):
        document(b"\x0d\0\0\0\0")
    with pytest.raises(UnsupportedLogError, match="literal 3"):
        document(b"\4\3")


@pytest.mark.fuzz
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_double_gives_the_same_double(value: float) -> None:
    found = double_text(value)
    assert float(found) == value
    assert math.copysign(1, float(found)) == math.copysign(1, value)
    assert "+" not in found
    assert "." in found or "e" in found


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e15, "1e15"),
        (1e14, "100000000000000.0"),
        (1234567890123456.5, "1234567890123456.5"),
        (1170544929918692.0, "1.170544929918692e15"),
        (1.5e-15, "0.0000000000000015"),
        (1.5e-16, "1.5e-16"),
        (-0.0, "-0.0"),
        (5e-324, "5e-324"),
        (-1.25, "-1.25"),
        (12345678901234568.0, "1.2345678901234568e16"),
    ],
)
def test_doubles_are_as_mysql_8_prints_them(value: float, shown: str) -> None:
    assert double_text(value) == shown


@pytest.mark.fuzz
@given(st.integers(1, 65), st.data())
def test_the_text_of_a_decimal(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, min(precision, 30)))
    number = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    digits = str(abs(number)).rjust(scale + 1, "0")
    shown = ("-" if number < 0 else "") + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)
    assert Decimal(decimal_text(decimal(shown, precision, scale), precision, scale)) == Decimal(shown)


def test_bytes_that_are_no_decimal_are_an_error() -> None:
    for data, precision, scale in ((b"\xff\xff\xff\xff", 9, 0), (b"\x80", 10, 2), (b"", 0, 1)):
        with pytest.raises(MalformedLogError, match="not a decimal"):
            decimal_text(data, precision, scale)


def change(operation: int, path: str, value: Any = None) -> bytes:
    found = bytes([operation]) + packed_bytes(path.encode())
    return found if operation == 2 else found + packed_bytes(binary_json.document(value))


def path_of(legs: list[str | int]) -> str:
    return "$" + "".join(f"[{leg}]" if isinstance(leg, int) else f".{quoted(leg)}" for leg in legs)


@pytest.mark.fuzz
@given(st.dictionaries(texts, documents, min_size=1, max_size=4), st.data())
def test_changes_are_applied(value: dict[str, Any], data: st.DataObject) -> None:
    before, expected, changes = binary_json.document(value, large=True), copy.deepcopy(value), b""
    for _ in range(data.draw(st.integers(1, 3))):
        legs: list[Any] = []
        parent: Any = expected
        while isinstance(parent, dict | list) and parent and (not legs or data.draw(st.booleans())):
            leg = data.draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
            legs.append(leg)
            holder, parent = parent, parent[leg]
        if not legs:
            break
        operation = data.draw(st.sampled_from([0, 1, 2]))
        new = data.draw(st.integers(-5, 5) | st.just([1.5]))
        if operation == 0:
            holder[legs[-1]] = new
        elif operation == 2:
            del holder[legs[-1]]
        elif isinstance(holder, list):
            holder.insert(legs[-1], new)
        else:
            legs[-1] = f"{legs[-1]}+"
            holder[legs[-1]] = new
        changes += change(operation, path_of(legs), new)
    assert json.loads(changed_document(before, changes)) == expected


def test_plain_paths_and_the_order_of_keys() -> None:
    before = binary_json.document({"b": 1, "aa": [1, 2]})
    changes = change(1, "$.c", 3) + change(0, "$.aa[1]", "x") + change(0, '$."b"', None)
    assert changed_document(before, changes) == '{"b": null, "c": 3, "aa": [1, "x"]}'
    assert changed_document(before, change(0, "$", 7)) == "7"


@pytest.mark.parametrize(
    "changes",
    [
        change(0, "$.x", 1),
        change(2, "$.aa[5]"),
        change(1, "$.b.c", 1),
        change(1, "$", 1),
        change(7, "$.b", 1),
        change(0, "$..b", 1),
        change(0, "$.b", 1)[:-1],
        change(0, "$[0]", 1),
    ],
)
def test_changes_that_do_not_fit_are_an_error(changes: bytes) -> None:
    before = binary_json.document({"b": 1, "aa": [1, 2]})
    with pytest.raises(MalformedLogError):
        changed_document(before, changes)
