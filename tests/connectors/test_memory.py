"""The source and the sink ``Memory``, without Spark and in whole jobs whose tasks run in this process."""

import pickle
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import seatunnel_core as st
from seatunnel_core.connector_api.testing import Skipped, SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import begin, place
from seatunnel_core.connectors.memory.held import hold, hold_rows
from seatunnel_core.connectors.memory.sink import MemorySink
from seatunnel_core.connectors.memory.source import MemorySource
from seatunnel_core.errors import CommitError, RowError, SinkError, SourceChangedError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.runtime.ground import committed, ground_in, until

ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme {number}"} for number in range(300)]
SCHEMA = TableSchema(table="default", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


class TestMemorySource(SourceConformance):
    source_class = MemorySource

    def options(self) -> Mapping[str, Any]:
        return {"data": pa.Table.from_pylist(ROWS), "rows_per_split": 70}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class OneArray:
    """Gives its rows through the other half of the interface."""

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return pa.RecordBatch.from_pylist(ROWS).__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS, index=range(7, 307)),
        pa.Table.from_pylist(ROWS).to_reader(max_chunksize=10),
        OneArray(),
        hold(pa.Table.from_pylist(ROWS)),
    ],
    ids=["pandas", "pandas with an index", "reader", "array", "held"],
)
def test_whatever_has_the_interface_gives_its_rows(given: Any) -> None:
    source = MemorySource(options_of(MemorySource, {"data": given}))
    found = plan(source)
    assert (read(source, found), found.schemas[0].columns) == (ROWS, SCHEMA.columns)


def test_the_index_of_a_dataframe_is_no_column() -> None:
    """The index of a frame that was filtered became a column ``__index_level_0__``, and one with a name a column."""
    frame = pd.DataFrame({"n": [1, 2, 3]})
    assert hold(frame[frame["n"] > 1]).columns.names == ["n"]
    assert hold(frame[frame["n"] > 1]).rows == 2
    with pytest.raises(ValueError, match=r"the index city, which is not a column: call reset_index\(\)"):
        hold(frame.set_axis(pd.Index(["a", "b", "c"], name="city")))
    assert hold(pa.Table.from_pandas(frame.set_axis(["a", "b", "c"]))).columns.names == ["n", "__index_level_0__"]


LONG = pa.large_string()
KNOWN: list[tuple[pa.Array, pa.DataType]] = [
    (pa.array(["a"], pa.large_string()), pa.string()),
    (pa.array(["a"], pa.string_view()), pa.string()),
    (pa.array(["a", "a"]).dictionary_encode(), pa.string()),
    (pa.array([b"a"], pa.large_binary()), pa.binary()),
    (pa.array([255], pa.uint8()), pa.int16()),
    (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 0)),
    (pa.array([datetime(2020, 1, 1)], pa.timestamp("ns")), pa.timestamp("us")),
    (pa.array([datetime(2020, 1, 1)], pa.timestamp("ms", "Asia/Tokyo")), pa.timestamp("us", "UTC")),
    (pa.array([1], pa.time32("ms")), pa.time64("us")),
    (pa.array([0], pa.date64()), pa.date32()),
    (pa.array([Decimal("1.5")], pa.decimal256(50, 1)), pa.decimal256(50, 1)),
    (pa.array([[1]], pa.large_list(pa.uint16())), pa.list_(pa.int32())),
    (pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), pa.list_(pa.float32(), 2)),
    (pa.array([{"a": ["x"]}], pa.struct([("a", pa.large_list(LONG))])), pa.struct([("a", pa.list_(pa.string()))])),
    (pa.array([[("k", 1)]], pa.map_(pa.large_string(), pa.uint8())), pa.map_(pa.string(), pa.int16())),
]  # fmt: skip


@pytest.mark.parametrize(
    ("array", "kind"), KNOWN, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
def test_types_of_others_become_the_nearest_known_ones(array: pa.Array, kind: pa.DataType) -> None:
    source = MemorySource(options_of(MemorySource, {"data": pa.table({"c": array})}))
    found = plan(source)
    assert found.schemas[0].columns.field("c").type == kind
    assert len(read(source, found)) == len(array)


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())), pa.list_(pa.int64())),
        (pa.array([[1], None, [2, 3]], pa.large_list_view(pa.uint8())), pa.list_(pa.int16())),
        (pa.array([[[1], [2, 3]], None], pa.list_(pa.list_view(pa.int64()))), pa.list_(pa.list_(pa.int64()))),
        (pa.array([{"a": ["x"]}], pa.struct([("a", pa.list_view(LONG))])), pa.struct([("a", pa.list_(pa.string()))])),
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["x", None]), pa.string()),
        (pa.array(["a", "b", "a"], pa.string()).dictionary_encode().cast(pa.dictionary(pa.int8(), LONG)), pa.string()),
        (pa.array([b"ab", None], pa.binary(2)), pa.binary()),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else "",
)
def test_values_that_arrow_casts_to_others_or_not_at_all_stay_as_they_are(array: pa.Array, kind: pa.DataType) -> None:
    source = MemorySource(options_of(MemorySource, {"data": pa.table({"c": array})}))
    found = plan(source)
    assert found.schemas[0].columns.field("c").type == kind
    assert [row["c"] for row in read(source, found)] == array.to_pylist()


def collected(given: Any) -> pa.Table:
    """What a job gives of an object that it takes: in this process, without a job."""
    source = MemorySource(options_of(MemorySource, {"data": given}))
    found = plan(source)
    sink = MemorySink(options_of(MemorySink, {}))
    batches = [batch.rows for split in found.splits for batch in source.read(split, Skipped())]
    commit(sink, [stage(sink, found.schemas[0], batches, place())], place())
    return sink.collected()["default"]


def test_a_frame_of_polars_is_a_source_and_takes_the_result() -> None:
    columns = {
        "id": [1, 2, None],
        "name": ["näme", None, ""],
        "day": [date(2020, 2, 29), None, date(1, 1, 1)],
        "at": [datetime(2020, 1, 1, 12), None, datetime(1969, 12, 31)],
        "pay": pl.Series([Decimal("1.50"), None, Decimal("-2.00")], dtype=pl.Decimal(10, 2)),
        "tags": [["a"], None, []],
        "inner": [{"a": 1}, {"a": None}, {"a": 3}],
        "sort": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
    }
    frame = pl.DataFrame(columns)
    found = pl.DataFrame(collected(frame))
    assert found.equals(frame.with_columns(pl.col("sort").cast(pl.String)))
    assert pl.DataFrame(collected(frame.lazy().collect().slice(1, 1))).rows() == frame.slice(1, 1).rows()


def test_a_relation_of_duckdb_is_a_source_and_duckdb_asks_the_result() -> None:
    asked = """
        select i as id, 'n' || i as name, date '2020-02-29' as day, timestamptz '2020-01-01 00:00:00+00' as at,
        i::decimal(10, 2) as pay, [i, null] as tags, {'a': i} as part, map {'k': i} as pairs, i::hugeint as huge,
        'x'::enum('x', 'y') as sort from range(3) as t(i)
    """
    result = collected(duckdb.sql(asked))
    assert result.column_names == ["id", "name", "day", "at", "pay", "tags", "part", "pairs", "huge", "sort"]
    rows = duckdb.sql("select id, name, pay, tags, part.a, huge, sort from result order by id").fetchall()
    assert rows == [(n, f"n{n}", Decimal(n), [n, None], n, n, "x") for n in range(3)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("path.csv", "expected an object with __arrow_c_stream__ .* found a str"),
        (pa.table([[1], [2]], names=["a", "a"]), r"unique names, found \['a'\] twice"),
        (pa.table({"a": pa.array([1], pa.duration("s"))}), r"column 'a' has the type duration\[s\]"),
        (pa.table({"a": pa.array([[1]], pa.list_(pa.duration("s")))}), "column 'a' has the type list"),
        (pa.table({"a": pa.array([1], pa.timestamp("ns"))}), "cannot be converted to timestamp: .* would lose data"),
    ],
)
def test_what_cannot_be_read_is_said_when_the_job_is_built(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        st.Job("job").from_arrow(given)


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.memory.held.LARGEST", 100)
    with pytest.raises(UsageError, match=r"has 5,\d+ bytes; the maximum is 100"):
        st.Job("job").from_arrow(pa.Table.from_pylist(ROWS))


def test_another_object_is_refused_and_the_same_rows_are_not() -> None:
    sources = [
        MemorySource(options_of(MemorySource, {"data": pa.Table.from_pylist(rows)})) for rows in (ROWS, ROWS, ROWS[1:])
    ]
    found = plan(sources[0])
    assert read(sources[1], found) == ROWS
    with pytest.raises(SourceChangedError, match="differs from the object with which the job started"):
        read(sources[2], found)


def test_what_a_check_says_of_it() -> None:
    source = MemorySource(options_of(MemorySource, {"data": pd.DataFrame(ROWS), "rows_per_split": 200}))
    assert source.describe(plan(source).splits) == ["rows 1 to 200 of the object", "rows 201 to 300 of the object"]


# -- the sink ----------------------------------------------------------------------------------------------------------


def memory_sink(**options: Any) -> MemorySink:
    return MemorySink(options_of(MemorySink, options))


def rows(start: int, count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(ROWS[start : start + count], schema=SCHEMA.columns)


def test_committed_rows_are_collected_once() -> None:
    sink, there = memory_sink(), place()
    first, second = (stage(sink, SCHEMA, [rows(unit * 10, 5)], place(unit=unit)) for unit in (1, 2))
    assert sink.collected()["default"].num_rows == 0
    commit(sink, [first], there)
    commit(sink, [first, second], place(epoch=2), may_be_committed=True)
    sink.conclude(10, {})
    assert sink.collected()["default"].to_pylist() == ROWS[10:15] + ROWS[20:25]
    merged = sink.merge([writer_of(sink, 0).finish(), writer_of(sink, 5).finish()])
    assert (merged.rows, len(merged.body["rows"])) == (4, 2)


def writer_of(sink: MemorySink, start: int) -> Any:
    writer = begin(sink, SCHEMA, place())
    writer.write(Batch(table="default", rows=rows(start, 2)))
    return writer


def test_rows_that_went_to_an_earlier_process_are_not_left_out_in_silence() -> None:
    sink = memory_sink()
    commit(sink, [stage(sink, SCHEMA, [rows(0, 5)], place())], place())
    sink.conclude(8, {})
    with pytest.raises(UsageError, match=r"contains only 5 of the 8 collected rows.* a process that has ended"):
        sink.collected()


def test_more_than_the_limit_ends_the_job_and_says_so() -> None:
    sink = memory_sink(limit="2KB")
    with pytest.raises(SinkError, match=r"exceed the limit of 2,000 bytes .* raise the option limit"):
        begin(sink, SCHEMA, place()).write(Batch(table="default", rows=rows(0, 300)))
    units = [stage(sink, SCHEMA, [rows(0, 50)], place(unit=unit)) for unit in (1, 2, 3)]
    with pytest.raises(CommitError, match="exceed the limit of 2,000 bytes"):
        commit(sink, units, place())
    with pytest.raises(UsageError, match="expected at most 256,000,000 bytes, found 1,000,000,000"):
        memory_sink(limit="1GB")


def test_updates_are_refused() -> None:
    writer = begin(memory_sink(), SCHEMA, place())
    with pytest.raises(RowError, match="FilterRowKind"):
        writer.write(Batch(table="default", rows=rows(0, 1), kinds=pa.array([RowKind.DELETE], pa.int8())))


@pytest.mark.parametrize("body", [{"rows": [["default", "no rows"]]}, {"rows": ["x"]}, {}])
def test_a_committable_of_something_else_is_refused(body: Mapping[str, Any]) -> None:
    from attrs import evolve

    sink = memory_sink()
    forged = evolve(stage(sink, SCHEMA, [rows(0, 1)], place()), body=body)
    with pytest.raises(CommitError, match="was not created by this sink"):
        commit(sink, [forged], place())


def test_tasks_get_no_committed_rows() -> None:
    sink = memory_sink()
    before = len(pickle.dumps(sink))
    commit(sink, [stage(sink, SCHEMA, [rows(0, 300)], place())], place())
    assert len(pickle.dumps(sink)) == before


# -- whole jobs --------------------------------------------------------------------------------------------------------


def through(job: st.Job, data: Any, **more: Any) -> st.Job:
    kept = job.from_arrow(data, name="in", rows_per_split=20, **more).transform("Filter", include_fields=["id"])
    kept.collect(name="ids")
    return job


def test_a_program_gets_its_rows_back(tmp_path: Path) -> None:
    with ground_in(tmp_path):
        job = through(st.Job("numbers"), pa.Table.from_pylist(ROWS).to_reader())
        for _ in range(2):  # what a stream gives once, several runs of the job have
            with job.submit() as handle:
                handle.result()
                found = pa.table(handle.collect())
                assert found.equals(pa.table(handle.collect("ids", table="in")))
                with pytest.raises(UsageError, match="no sink Memory 'others'; it has 'ids'"):
                    handle.collect("others")
            assert sorted(found["id"].to_pylist()) == list(range(300))


def test_a_job_goes_on_with_the_same_rows_and_with_no_others(tmp_path: Path) -> None:
    slow = {"checkpoint.interval": 40, "read_limit.rows_per_second": 200, "job.retry.times": 0}
    with ground_in(tmp_path):
        with through(st.Job("numbers", slow), pa.Table.from_pylist(ROWS)).submit() as handle:
            until(lambda: committed(handle._run) > 0, handle._run)
            assert 0 < handle.collect().num_rows < 300
            handle.cancel()
        fast = {**slow, "read_limit.rows_per_second": 10**6}
        others = through(st.Job("numbers", fast), pa.Table.from_pylist(ROWS[:-1]))
        with pytest.raises(st.JobFailedError, match="differs from the object with which the job started"):
            others.run(restore=handle.job_id)
        with through(st.Job("numbers", fast), pa.Table.from_pylist(ROWS)).submit(restore=handle.job_id) as again:
            (view,) = again.result().pipelines
            assert view.rows_committed == 300
            with pytest.raises(UsageError, match=r"contains only \d+ of the 300 collected rows"):
                again.collect()


NESTED = [
    {"id": 1, "unitPrice": {"eur": 2}, "lines": [{"sku": "a"}, {"sku": "b"}]},
    {"id": 2, "unitPrice": {"eur": 2.5}, "lines": []},
    {"id": 3, "lines": [{"sku": "c", "tags": ["x", "y"]}]},
]


@pytest.mark.parametrize("rows_per_split", [1, 2, 100])
def test_rows_of_python_become_child_tables(rows_per_split: int) -> None:
    options = {"data": hold_rows(NESTED, None), "table": "orders", "nesting": "tables", "column_names": "safe"}
    source = MemorySource(options_of(MemorySource, {**options, "rows_per_split": rows_per_split}))
    planned = plan(source)
    assert {each.table: each.columns.names for each in planned.schemas} == {
        "orders": ["_row_id", "id", "unit_price__eur"],
        "orders__lines": ["_row_id", "_parent_id", "_list_index", "sku"],
        "orders__lines__tags": ["_row_id", "_parent_id", "_list_index", "value"],
    }
    rows = read(source, planned)
    ids = {row["id"]: row["_row_id"] for row in rows if "id" in row}
    assert len(set(ids.values())) == 3
    lines = {row["sku"]: (row["_parent_id"], row["_list_index"]) for row in rows if "sku" in row}
    assert lines == {"a": (ids[1], 0), "b": (ids[1], 1), "c": (ids[3], 0)}
    assert [row["value"] for row in rows if "value" in row] == ["x", "y"]
    assert sorted(ids.values()) == sorted(row["_row_id"] for row in read(source) if "id" in row), (
        "the same when they are read again"
    )


def test_names_that_two_columns_would_have_are_refused() -> None:
    with pytest.raises(
        UsageError,
        match=r"'nesting': with these values .*, two columns of the table default would be named 'a__b'",
    ):
        MemorySource(
            options_of(MemorySource, {"data": hold_rows([{"a": {"b": 1}, "a__b": 2}], None), "nesting": "columns"})
        )
