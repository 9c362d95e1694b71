"""What the sink of a format writes its source reads back equal, or the row is refused with its column.

Extreme values of every type; the campaign (``make fuzz``) makes more of them.
"""

import datetime as dt
import math
import os
import random
import struct
from collections.abc import Iterator
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connector_api.testing.drive import begin, finished, place, sink_place
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.spark.bad_rows import write_around
from tests.connectors.file.local_files import sink, source

TEXTS = [
    *(
        "",
        " ",
        "  x ",
        "x",
        "NULL",
        "null",
        "\\N",
        "NaN",
        "true",
        "01067",
        "1e5",
        "1.50",
        "2024-01-31",
        "a,b",
        "a;b",
        "|",
    ),
    *(
        '"',
        '""',
        'a"b',
        '"a"',
        "'",
        "\\",
        "a\\",
        "\\n",
        "\n",
        "\r",
        "\r\n",
        "a\nb",
        "a\r",
        "\n\n",
        "\t",
        "\x00",
        "\x01",
    ),
    *("\x02", "\x03a\x04", "\x1c", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "\ufeffx", "\ufffd", "\ufffe", "\uffff"),
    *(
        "ä",
        "漢字",
        "\U0001f600",
        "e\u0301",
        "_x000D_",
        "_x0041_",
        "<a>&amp;</a>",
        "]]>",
        "#x",
        "=1+1",
        "-1",
        "+1",
        "{}",
    ),
    *("[1]", '{"a": 1}', "x" * 40_000, ",", ",,", '",', "\x1d\x1e\x1f\x1e\x1d"),
]
MOMENTS = [
    *(
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    ),
    *(
        dt.datetime(1582, 10, 10),
        dt.datetime(1900, 2, 28, 12),
        dt.datetime(1900, 3, 1),
        dt.datetime(2024, 2, 29, 1, 2, 3),
    ),
    *(dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1000), dt.datetime(1677, 9, 21)),
    dt.datetime(2262, 4, 12),
]
FLOATS = [
    *(0.0, -0.0, 0.1, 1 / 3, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 123456789012345680.0),
    *(math.inf, -math.inf, math.nan, 2.0**53 + 2, -1.5),
]
VALUES: dict[str, list[Any]] = {
    "string": TEXTS,
    "boolean": [True, False],
    "tinyint": [-128, 127, 0],
    "smallint": [-(2**15), 2**15 - 1],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, -(2**53) - 1],
    "float": [struct.unpack("f", struct.pack("f", max(min(x, 3.4e38), -3.4e38)))[0] for x in FLOATS],
    "double": FLOATS,
    "decimal(38, 10)": [Decimal("9" * 28 + "." + "9" * 10), Decimal("-1E-10"), Decimal(0), Decimal("1.5")],
    "decimal(5, 0)": [Decimal(99999), Decimal(-1)],
    "decimal(76, 38)": [Decimal("9" * 38 + "." + "9" * 38), Decimal("-1E-38")],
    "bytes": [b"", b"x", b"\x00", b"\xff\xfe", b"\r\n", b"a,b", "ä".encode(), b"[1]", bytes(range(256)), b"x" * 5000],
    "date": [moment.date() for moment in MOMENTS],
    "time": [dt.time(0), dt.time(23, 59, 59, 999999), dt.time(12, 30), dt.time(1, 2, 3, 4000)],
    "timestamp": MOMENTS,
    "timestamp_tz": [moment.replace(tzinfo=dt.UTC) for moment in MOMENTS],
    "array<int>": [[], [1], [None], [1, None, 3], [None, None]],
    "array<string>": [[], [""], ["a", ""], ["", "a"], ["a,b", '"', "x\ny"], ["\x02"], [None], ["a", None]],
    "array<array<int>>": [[], [[]], [[1], []], [[], [1]], [None], [[None]]],
    "map<string, int>": [[], [("a", 1)], [("a", None), ("", 2)], [("x=y", 1), ("x:y", 2)]],
    "map<int, array<string>>": [[], [(1, [])], [(1, ["a"]), (2, None)]],
    "{a = int, b = string}": [{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": 1, "b": ""}, {"a": None, "b": ";"}],
    "{a = {b = array<date>}, c = double}": [
        {"a": {"b": [dt.date(1, 1, 1)]}, "c": 0.5},
        {"a": {"b": None}, "c": math.inf},
        {"a": None, "c": 1e16},
    ],
}
FORMATS: dict[str, dict[str, dict[str, Any]]] = {
    "csv": {"sink": {}, "source": {}},
    "csv with a header, all in quotes": {
        "sink": {"enable_header_write": True, "csv_string_quote_mode": "ALL"},
        "source": {"csv_use_header_line": True},
    },
    "text": {"sink": {}, "source": {}},
    "text between bars": {"sink": {"field_delimiter": "||"}, "source": {"field_delimiter": r"\|\|"}},
    "text that tells null": {
        "sink": {"null_format": "\\N"},
        "source": {"null_format": "\\N", "empty_value": "TEXT"},
    },
    "csv that tells null": {
        "sink": {"null_format": "NULL"},
        "source": {"null_format": "NULL", "empty_value": "TEXT"},
    },
    "json": {"sink": {}, "source": {}},
    "json in gzip": {"sink": {"compress_codec": "gzip"}, "source": {"compress_codec": "gzip"}},
    "parquet": {"sink": {}, "source": {}},
    "parquet with INT96": {"sink": {"parquet_avro_write_timestamp_as_int96": True}, "source": {}},
    "orc": {"sink": {}, "source": {}},
    "excel": {"sink": {}, "source": {"skip_header_row_number": 1}},
    "xml": {"sink": {}, "source": {"xml_row_tag": "RECORD"}},
    "xml with attributes": {
        "sink": {"xml_use_attr_format": True},
        "source": {"xml_row_tag": "RECORD", "xml_use_attr_format": True},
    },
}


def differences(folder: Path, way: str, kind: str, values: list[Any]) -> Iterator[str]:
    """What came back otherwise, and what was refused without its column."""
    format = way.split(" ")[0]
    said = {"file_format_type": format}
    made = sink(folder, **said, **FORMATS[way]["sink"])
    columns = pa.schema([("id", pa.int32()), ("v", arrow_type(kind)), ("last", pa.string())])
    rows = [{"id": number, "v": value, "last": "z"} for number, value in enumerate([None, *values])]
    try:
        writer = begin(made, TableSchema(table="default", columns=columns), place())
    except SinkError as error:
        yield from [] if "'v'" in str(error) else [f"{kind}: {error}"]
        return
    batch = pa.RecordBatch.from_pylist(rows, columns)
    refused = list(write_around(writer, Batch(table="default", rows=batch), nulls=False))
    yield from (f"{kind} {rows[each.place]['v']!r}: {each.error}" for each in refused if each.error.column != "v")
    left_out = {each.place for each in refused}
    made.commit([finished(writer, place())], sink_place(place()), may_be_committed=False)
    reads = source(
        folder, schema={"fields": {"id": "int", "v": kind, "last": "string"}}, **said, **FORMATS[way]["source"]
    )
    found = {row["id"]: row for row in read(reads)}
    for number, row in enumerate(batch.to_pylist()):
        tells_null = "null_format" in FORMATS[way]["sink"] and not isinstance(row["v"], list | dict)
        expected = row if tells_null else {**row, "v": without_empty(row["v"], format)}
        if number not in left_out and repr(found.get(number)) != repr(expected):
            yield f"{kind} {row['v']!r}: {found.get(number)}"
    if len(found) != len(rows) - len(left_out):
        yield f"{kind}: {len(found)} rows"


def without_empty(value: Any, format: str) -> Any:
    """The value as its documentation says that it comes back: where nothing tells an empty text from null, it is null,
    and so is what has no sign between control characters."""
    if value == "" and format == "text":
        return None
    if format not in ("csv", "text"):
        return value
    if isinstance(value, list):
        pairs = [tuple(_part(part) for part in each) if isinstance(each, tuple) else _part(each) for each in value]
        return pairs if pairs not in ([], [None]) else None
    if isinstance(value, dict):
        parts = {name: _part(part) for name, part in value.items()}
        return None if list(parts.values()) == [None] else parts
    return None if format == "text" and value == b"" else value


def _part(value: Any) -> Any:
    return None if value == "" else without_empty(value, "text")


@pytest.mark.parametrize("way", [pytest.param(way, marks=[pytest.mark.fuzz] if " " in way else []) for way in FORMATS])
def test_extreme_values(tmp_path: Path, way: str) -> None:
    found = []
    for number, (kind, values) in enumerate(VALUES.items()):
        if way == "orc" and "timestamp" in kind and not find_spec("pyorc"):
            values = [moment for moment in values if 1678 <= moment.year < 2262]
        found += [each[:300] for each in differences(tmp_path / str(number), way, kind, values)]
    assert "\n".join(found) == ""


def _random(kind: str, chance: random.Random) -> Any:
    """A value of a type that looks like the extreme ones."""
    if kind == "string":
        return "".join(chance.choices([sign for text in TEXTS[:-9] for sign in text], k=chance.randrange(6)))
    if kind == "double":
        return struct.unpack("d", chance.randbytes(8))[0]
    if kind == "float":
        return struct.unpack("f", chance.randbytes(4))[0]
    if kind == "bytes":
        return chance.randbytes(chance.randrange(5))
    if kind in ("timestamp", "timestamp_tz", "date"):
        moment = dt.datetime(1, 1, 1) + dt.timedelta(microseconds=chance.randrange(3 * 10**17))
        return {"date": moment.date(), "timestamp": moment}.get(kind, moment.replace(tzinfo=dt.UTC))
    if kind.startswith("decimal"):
        places = int(kind.rstrip(")").split(",")[1])
        digits = chance.randrange(1, int(kind[8:].split(",")[0]) + 1)
        return Decimal((chance.randrange(2), tuple(chance.choices(range(10), k=digits)), -places))
    return chance.choice(VALUES[kind])


@pytest.mark.fuzz
@pytest.mark.parametrize("way", FORMATS)
def test_random_values(tmp_path: Path, way: str) -> None:
    """`make test` draws 20 columns for each way, `make fuzz` 60."""
    chance = random.Random(way)
    for number in range(60 if "SEATUNNEL_EXAMPLES" in os.environ else 20):
        kind = chance.choice([each for each in VALUES if way != "orc" or find_spec("pyorc") or "timestamp" not in each])
        values = [_random(kind, chance) for _ in range(200)]
        assert list(differences(tmp_path / str(number), way, kind, values)) == []
