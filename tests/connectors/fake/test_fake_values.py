"""The values that ``FakeSource`` makes up: their ranges, templates, parts and sizes."""

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pytest

from tests.connectors.fake.fake_columns import batches, column, source


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("tinyint", -128, 127),
        ("tinyint", -3, -1),
        ("smallint", -5, 5),
        ("int", 20, 29),
        ("int", -(2**31), 2**31 - 1),
        ("bigint", 30, 30),
        ("bigint", -(2**63), 2**63 - 1),
        ("float", 40.0, 43.0),
        ("double", -1.7e308, 1.7e308),
        ("double", 44.0, 47.0),
    ],
)
def test_values_keep_to_their_range_and_use_it(kind: str, low: Any, high: Any) -> None:
    found = column(source({"c": kind}, **{"row.num": 500, f"{kind}.min": low, f"{kind}.max": high}))
    assert low <= min(found) <= max(found) <= high
    assert min(found) <= low * 0.8 + high * 0.2
    assert max(found) >= low * 0.2 + high * 0.8


TEMPLATES: dict[str, list[Any]] = {
    "string": ["kris", "hailin"],
    "tinyint": [-128, 1, 127],
    "smallint": [10, 11],
    "int": [20, 21],
    "bigint": [-(2**63), 30],
    "float": [40.0, 41.5],
    "double": [44.0, 1.7e308],
}


@pytest.mark.parametrize("mode", ["template", "range", None])
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_gives_its_values_unless_the_range_is_asked_for(kind: str, mode: str | None) -> None:
    options = {f"{kind}.template": TEMPLATES[kind], **({f"{kind}.fake.mode": mode} if mode else {})}
    found = column(source({"c": kind, "d": f"array<{kind}>"}, **{"row.num": 60, **options}))
    assert (set(found) == set(TEMPLATES[kind])) == (mode != "range")


PARTS: dict[str, tuple[list[int], Callable[[Any], int]]] = {
    "date.year": ([1, 1999, 9999], lambda moment: moment.year),
    "date.month": ([2, 11], lambda moment: moment.month),
    "date.day": ([1, 28], lambda moment: moment.day),
    "time.hour": ([0, 23], lambda moment: moment.hour),
    "time.minute": ([7], lambda moment: moment.minute),
    "time.second": ([0, 59], lambda moment: moment.second),
}


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (part, kind)
        for part in PARTS
        for kind in ("date", "time", "timestamp", "timestamp_tz")
        if kind not in ("date", "time") or part.startswith(kind)
    ],
)
def test_the_parts_of_moments_are_chosen(part: str, kind: str) -> None:
    wanted, part_of = PARTS[part]
    found = column(source({"c": kind}, **{"row.num": 200, f"{part}.template": wanted}))
    assert {part_of(moment) for moment in found} == set(wanted)
    others = [of for name, (_, of) in PARTS.items() if name != part and (kind not in ("date", "time") or kind in name)]
    assert all(len({of(moment) for moment in found}) > 5 for of in others)


def test_each_part_of_a_moment_is_chosen_by_itself() -> None:
    found = column(source({"c": "time"}, **{"row.num": 50, "time.hour.template": [1]}))
    assert len({moment.minute - moment.second for moment in found}) > 10


def test_the_last_day_of_a_leap_year() -> None:
    options = {"date.year.template": [2000, 2024], "date.month.template": [2], "date.day.template": [29]}
    assert set(column(source({"c": "date"}, **options))) <= {dt.date(2000, 2, 29), dt.date(2024, 2, 29)}


@pytest.mark.parametrize(
    ("kind", "options", "length"),
    [
        ("string", {"string.length": 7}, 7),
        ("string", {"string.length": 0}, 0),
        ("bytes", {"bytes.length": 3}, 3),
        ("array<int>", {"array.size": 4}, 4),
        ("array<int>", {"array.size": 0}, 0),
        ("map<bigint, int>", {"map.size": 6}, 6),
        ("map<bigint, int>", {"map.size": 0}, 0),
        ("float_vector", {"vector.dimension": 6}, 6),
        ("float16_vector", {}, 4),
        ("bfloat16_vector(3)", {"vector.dimension": 6}, 3),
        ("binary_vector", {"binary.vector.dimension": 24}, 3),
        ("binary_vector", {}, 1),
        ("sparse_float_vector", {"vector.dimension": 9}, 9),
    ],
)
def test_sizes(kind: str, options: Any, length: int) -> None:
    assert {len(value) for value in column(source({"c": kind}, **{"row.num": 30, **options}))} == {length}


@pytest.mark.parametrize("key", ["boolean", "tinyint", "array<boolean>"])
def test_a_key_comes_once_in_a_map(key: str) -> None:
    found = column(source({"c": f"map<{key}, int>"}, **{"row.num": 50, "map.size": 40}))
    sizes = [len(entries) for entries in found]
    assert sizes == [len({repr(name) for name, _ in entries}) for entries in found]
    assert min(sizes) >= 2


def test_an_index_comes_once_in_a_sparse_vector() -> None:
    (batch,) = batches(source({"c": "sparse_float_vector"}, **{"row.num": 1, "vector.dimension": 200_000}))
    assert len(batch.rows.column(0).keys.unique()) == 200_000


@pytest.mark.parametrize("kind", ["float_vector", "float16_vector", "sparse_float_vector"])
def test_numbers_of_a_vector_keep_to_their_range(kind: str) -> None:
    found = column(source({"c": kind}, **{"row.num": 50, "vector.float.min": -2, "vector.float.max": 3}))
    numbers = [number[1] if isinstance(number, tuple) else float(number) for vector in found for number in vector]
    assert -2 <= min(numbers) < -1.5 < 2.5 < max(numbers) <= 3


def test_numbers_of_16_bits_keep_to_theirs() -> None:
    """SeaTunnel's largest number by default is that of a float; one of 16 bits would always be infinite."""
    halves = [float(number) for vector in column(source({"c": "float16_vector"})) for number in vector]
    assert max(halves) <= 65_504
    bits = column(source({"c": "bfloat16_vector"}, **{"vector.float.min": 1, "vector.float.max": 1}))
    assert {number for vector in bits for number in vector} == {0x3F80}


@pytest.mark.parametrize("scale", [0, 2, 400])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_numbers_without_digits_after_the_point_are_not_rounded(kind: str, scale: int) -> None:
    """Rounding in Arrow fails on values such as 1e308, and those are what comes by default."""
    columns = [{"name": "c", "type": kind, "columnScale": str(scale)}]
    assert column(source(columns)) == column(source({"c": kind}))
    small = column(source(columns, **{f"{kind}.max": 4}))
    assert all(abs(value - round(value, scale)) < 1e-6 for value in small)


@pytest.mark.parametrize(
    ("kind", "written", "wanted"),
    [
        ("timestamp", "2024-09-12 15:45:30", dt.datetime(2024, 9, 12, 15, 45, 30)),
        ("time", "15:45:30", dt.time(15, 45, 30)),
        ("date", "2024-09-12", dt.date(2024, 9, 12)),
        ("bigint", "0", 0),
        ("bytes", "abc", b"abc"),
        ("decimal(4, 2)", "1.5", decimal.Decimal("1.50")),
        ("array<int>", [1, 2], [1, 2]),
        ("map<string, int>", {"a": 1}, [("a", 1)]),
        ("float_vector(2)", [1, 2], [1.0, 2.0]),
    ],
)
def test_a_default_value_stands_in_every_row(kind: str, written: Any, wanted: Any) -> None:
    of = source([{"name": "c", "type": kind, "defaultValue": written}], **{"row.num": 3})
    assert column(of) == [wanted] * 3
