"""What the sink ``Console`` prints."""

import datetime as dt
import time
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, options_of
from seatunnel_core.connector_api.testing.drive import place
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.work.committable import Committable
from tests.connectors.people import ROWS


def shown(sink: ConsoleSink, batches: Sequence[Batch], capsys: pytest.CaptureFixture[str], unit: int = 1) -> list[str]:
    """What is on the screen when a unit ends, and no checkpoint has come yet."""
    writer = sink.open_writer([], place(unit=unit))
    for batch in batches:
        writer.write(batch)
    staged = writer.finish()
    assert (staged.body, staged.rows) == ({}, sum(batch.rows.num_rows for batch in batches))
    sink.show(staged.shown)
    lines = capsys.readouterr().out.splitlines()
    committable = Committable(id="0-1-7", epoch=1, unit=unit, source="s", rows=7, bytes=1, body=staged.body)
    commit(sink, [committable], place())
    assert capsys.readouterr().out == ""
    return lines


def test_the_console_prints_when_a_unit_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """It printed when a checkpoint completed, which in a streaming job is five minutes later."""
    sink = ConsoleSink(options_of(ConsoleSink, {"rows_per_unit": 2}))
    assert shown(sink, [Batch(table="people", rows=ROWS)] * 2, capsys) == [
        "table people: name<string>, age<int>, tags<map<string, int>>, pay<decimal(10, 2)>",
        "subtaskIndex=1  rowIndex=1:  SeaTunnelRow#tableId=people SeaTunnelRow#kind=INSERT : "
        'Ada, 36, {"a":1,"b":2}, null',
        "subtaskIndex=1  rowIndex=2:  SeaTunnelRow#tableId=people SeaTunnelRow#kind=INSERT : "
        r"Bob\x1b[2J, null, null, null",
        "… and more rows of people that are not shown: 2",
    ]


def test_the_console_names_tables_and_kinds_and_what_it_left_out_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ConsoleSink(options_of(ConsoleSink, {"rows_per_unit": 3}))
    columns = pa.schema([("id", pa.int64())])
    batches = []
    for table, size in (("a", 2), ("b", 4), ("a", 1)):
        rows = pa.RecordBatch.from_pylist([{"id": number} for number in range(size)], columns)
        batches.append(Batch(table=table, rows=rows, kinds=pa.array([3] * size, pa.int8())))
    assert shown(sink, batches, capsys, unit=7) == [
        "table a: id<bigint>",
        "subtaskIndex=7  rowIndex=1:  SeaTunnelRow#tableId=a SeaTunnelRow#kind=DELETE : 0",
        "subtaskIndex=7  rowIndex=2:  SeaTunnelRow#tableId=a SeaTunnelRow#kind=DELETE : 1",
        "table b: id<bigint>",
        "subtaskIndex=7  rowIndex=3:  SeaTunnelRow#tableId=b SeaTunnelRow#kind=DELETE : 0",
        "… and more rows of b that are not shown: 3",
        "… and more rows of a that are not shown: 1",
    ]


def test_the_console_prints_every_row_as_long_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """It printed a hundred rows of a unit, and 500 characters of a row."""
    long = pa.RecordBatch.from_pylist([{"name": f"{at}" + "x" * 10_000} for at in range(300)])
    lines = shown(ConsoleSink(options_of(ConsoleSink, {})), [Batch(table="t", rows=long)] * 2, capsys)
    assert [line.split(":")[0] for line in lines[1:]] == [f"subtaskIndex=1  rowIndex={at + 1}" for at in range(600)]
    assert lines[300].endswith(" : 299" + "x" * 10_000)


def test_the_console_can_be_silent_and_slow(capsys: pytest.CaptureFixture[str]) -> None:
    sink = ConsoleSink(options_of(ConsoleSink, {"log.print.data": False, "log.print.delay.ms": 30}))
    started = time.monotonic()
    assert shown(sink, [Batch(table="people", rows=ROWS)] * 2, capsys) == []
    assert time.monotonic() - started > 0.12


def test_the_console_writes_values_as_json_with_texts_and_moments_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    columns = pa.schema(
        [
            ("yes", pa.bool_()),
            ("pi", pa.float32()),
            ("pay", pa.decimal128(10, 2)),
            ("raw", pa.binary()),
            ("at", pa.time64("us")),
            ("born", pa.timestamp("us")),
            ("say", pa.string()),
            ("row", arrow_type('{a = float, at = time, say = string, "b c" = "array<boolean>"}')),
            ("times", arrow_type("map<time, string>")),
        ]
    )
    at, born = dt.time(12, 1, 26), dt.datetime(2012, 12, 21, 12, 34, 56)
    row = {"a": 3.1, "at": at, "say": "hi", "b c": [True, None]}
    values = [True, 3.1, Decimal("7.50"), b"hi", at, born, 'say "hi"', row, [(at, "noon")]]
    rows = pa.RecordBatch.from_pylist([dict(zip(columns.names, values, strict=True))], columns)
    sink = ConsoleSink(options_of(ConsoleSink, {}))
    header, line = shown(sink, [Batch(table="t\n", rows=rows)], capsys)
    assert header.startswith(r"table t\n: yes<boolean>")
    assert line.partition(" : ")[2] == (
        'true, 3.1, 7.50, aGk=, 12:01:26, 2012-12-21T12:34:56, say "hi", '
        '{"a":3.1,"at":"12:01:26","say":"hi","b c":[true,null]}, {"12:01:26":"noon"}'
    )


def test_the_console_marks_values_that_did_not_arrive(capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.RecordBatch.from_pylist([{"id": 1, "text": None}] * 3)
    batch = Batch(table="t", rows=rows, absent={"text": pa.array([False, True, True])})
    lines = shown(ConsoleSink(options_of(ConsoleSink, {"rows_per_unit": 2})), [batch], capsys)
    assert [line.partition(" : ")[2] for line in lines[1:3]] == ["1, null", "1, …"]
