"""What ``FakeSource`` makes up, and what it makes of values that are written down."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of, plan
from seatunnel_core.connector_api.testing.drive import shipped, through_json
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.errors import ConfigError, SourceError, UsageError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.types import type_name
from tests.connectors.fake.fake_columns import batches, column, source

SIMPLE = ["string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(30, 8)", "bytes"]
SIMPLE += ["date", "time", "timestamp", "timestamp_tz", "decimal(1, 1)", "decimal(38, 38)", "decimal(76, 10)"]
VECTORS = ["float_vector", "float16_vector", "bfloat16_vector", "binary_vector", "sparse_float_vector"]
TYPES = st.recursive(
    st.sampled_from([*SIMPLE, *VECTORS, "null"]),
    lambda inner: st.one_of(
        inner.map(lambda part: f"array<{part}>"),
        st.tuples(st.sampled_from([*SIMPLE, "array<boolean>"]), inner).map(lambda pair: f"map<{pair[0]}, {pair[1]}>"),
        st.tuples(inner, inner).map(lambda pair: f'row<a = {pair[0]}, "b c" = {pair[1]}>'),
    ),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TYPES, st.integers(1, 9), st.integers(1, 3), st.integers(0, 2**63 - 1))
def test_rows_are_the_same_however_they_are_cut(kind: str, splits: int, parallelism: int, seed: int) -> None:
    options = {"row.num": 12, "seed": seed, "array.size": 3, "map.size": 3}
    whole = column(source({"c": kind}, **options), parallelism=parallelism)
    cut = column(source({"c": kind}, **{**options, "split.num": splits}), parallelism=parallelism)
    assert len(whole) == 12 * parallelism
    assert repr(cut) == repr(whole)


@pytest.mark.parametrize("kind", [*SIMPLE, *VECTORS])
def test_another_seed_gives_other_rows_and_no_row_is_like_the_next(kind: str) -> None:
    """Where there are enough values for that."""
    first, second = (column(source({"c": kind}, **{"row.num": 40, "seed": seed})) for seed in (1, 2))
    assert first != second
    few = kind in ("boolean", "decimal(1, 1)")
    assert len({repr(value) for value in first}) >= (2 if few else 20)


def test_a_column_says_more_than_the_options() -> None:
    columns = [
        {"name": "text", "type": "string", "columnLength": "12"},
        {"name": "any", "type": "string", "columnLength": "0"},
        {"name": "price", "type": "double", "columnScale": "2"},
        {"name": "vector", "type": "float_vector", "columnScale": "7"},
        {"name": "sparse", "type": "sparse_float_vector", "columnScale": "3"},
    ]
    for batch in batches(source(columns, **{"double.max": 10, "vector.dimension": 5})):
        for row in batch.rows.to_pylist():
            assert [len(row[name]) for name in ("text", "any", "vector", "sparse")] == [12, 5, 7, 3]
            assert row["price"] == round(row["price"], 2)


MOMENTS = [("date", "current_date"), ("time", "CURRENT_TIME"), ("timestamp", "CURRENT_TIMESTAMP")]
MOMENTS += [("timestamp_tz", "CURRENT_TIMESTAMP")]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(("kind", "name"), MOMENTS)
def test_the_moment_of_now_is_that_of_planning(kind: str, name: str, *, rows: bool, streaming: bool) -> None:
    """Not that of reading: a split that is read again gives the same."""
    declared = [{"name": "c", "type": kind, **({} if rows else {"defaultValue": name})}]
    of = source(declared, **({"rows": [{"fields": [name]}]} if rows else {}))
    of.run_in(streaming=streaming)
    before = dt.datetime.now().astimezone()
    planning = PlanningContext(parallelism=1)
    items = through_json([dict(item) for item in of.poll({}, planning).items]) if streaming else []
    after = dt.datetime.now().astimezone()
    splits = of.enumerate(items, planning).splits
    read = [next(iter(shipped(of).read(split, None))).rows for split in [*splits, *splits]]  # type: ignore[arg-type]
    assert read[0].equals(read[1])
    value = read[0].column(0)[0].as_py()
    after = after if streaming else dt.datetime.now().astimezone()
    bounds = {
        "date": (before.date(), after.date()),
        "time": (before.time(), after.time()),
        "timestamp": (before.replace(tzinfo=None), after.replace(tzinfo=None)),
        "timestamp_tz": (before, after),
    }
    low, high = bounds[kind]
    assert low <= value <= high or (kind == "time" and high < low)  # type: ignore[operator]


def test_splits_without_a_moment_say_so() -> None:
    """They were planned by the job as it was before somebody wrote the moment into it, and went on with it."""
    (split,) = plan(source({"c": "date"}), PlanningContext(parallelism=1)).splits
    with pytest.raises(SourceError, match="start a new job"):
        list(source([{"name": "c", "type": "date", "defaultValue": "CURRENT_DATE"}]).read(split, None))  # type: ignore[arg-type]


COLUMNS = [
    {"name": "id", "type": "bigint", "nullable": "false"},
    {"name": "a b", "type": "string"},
    {"name": "n", "type": "int", "defaultValue": "7"},
]


def test_rows_that_are_written_down() -> None:
    rows = [
        {"kind": "INSERT", "fields": [1, "A", 100]},
        {"kind": "update_before", "fields": {"n": 100, "id": 1, "a b": "A"}},
        {"kind": "UPDATE_AFTER", "fields": {"id": "1"}},
        {"kind": "DELETE", "fields": [1, None, None]},
        {"fields": [2, 3, 4]},
    ]
    found = batches(source(COLUMNS, rows=rows, **{"split.num": 3}), parallelism=2)
    kinds = [kind for batch in found for kind in (batch.kinds or pa.array([0] * batch.rows.num_rows)).to_pylist()]
    names = ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE", "INSERT"]
    assert [RowKind(kind).name for kind in kinds] == names * 2
    assert [tuple(row.values()) for batch in found for row in batch.rows.to_pylist()] == [
        (1, "A", 100),
        (1, "A", 100),
        (1, None, 7),
        (1, None, 7),
        (2, "3", 4),
    ] * 2


def test_no_rows_written_down_are_no_splits() -> None:
    assert batches(source(COLUMNS, rows=[])) == []


@pytest.mark.parametrize("parallelism", [1, 2, 8])
def test_counting_goes_on_from_reader_to_reader(parallelism: int) -> None:
    options = {"auto.increment.enabled": True, "auto.increment.start": 1000, "row.num": 30, "split.num": 4}
    found = column(source({"id": "int", "age": "int"}, **options), parallelism=parallelism)
    assert sorted(found) == list(range(1000, 1000 + 30 * parallelism))


def test_the_primary_key_is_counted() -> None:
    columns = [{"name": "n", "type": "int"}, {"name": "id", "type": "int", "defaultValue": "0"}]
    schema = {"columns": columns, "primaryKey": {"name": "pk", "columnNames": ["id"]}}
    of = FakeSource(options_of(FakeSource, {"schema": schema, "auto.increment.enabled": True, "row.num": 3}))
    assert [batch.rows.column("id").to_pylist() for batch in batches(of)] == [[1, 2, 3]]


def test_wide_rows_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.fake.source._BATCH_BYTES", 1 << 20)
    of = source({"c": "float_vector(1024)"}, **{"row.num": 600})
    (split,) = plan(of, PlanningContext(parallelism=1)).splits
    assert split.weight_bytes == 600 * 1024 * 4
    assert [batch.rows.num_rows for batch in of.read(split, None)] == [256, 256, 88]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"c": "int"}, {"int.min": 5, "int.max": 4}, "'int.min': 5 is greater than int.max, which is 4"),
        ({"c": "int"}, {"vector.float.min": 5, "vector.float.max": 4}, "vector.float.min"),
        ({"c": "int"}, {"int.fake.mode": "template"}, r"template requires int.template = \[value"),
        ({"c": "int"}, {"float.max": 1e39}, "'float.max': 1e.39 does not fit into a float"),
        ({"c": "int"}, {"float.template": [-1e39]}, "'float.template': -1e.39 does not fit"),
        ({"c": "int"}, {"binary.vector.dimension": 12}, "expected a multiple of 8, found 12"),
        (
            {"c": "int"},
            {"date.day.template": [30]},
            "2000-02 has no day 30; restrict the months with date.month.template",
        ),
        ({"c": "int"}, {"date.year.template": [2023], "date.day.template": [29]}, "2023-02 has no day 29"),
        ({"c": "string"}, {"auto.increment.enabled": True}, "no column of type int or bigint"),
        ([{"name": "c", "type": "int", "defaultValue": "x"}], {}, "'schema': column 'c': defaultValue 'x' is not of"),
        ({"c": "date"}, {"rows": [{"fields": ["CURRENT_TIME"]}]}, "row 1: column 'c': 'CURRENT_TIME' is not of type"),
        ({"c": "int"}, {"rows": {"fields": [1]}}, "'rows': expected a list"),
        ({"c": "int"}, {"rows": [{"kind": "UPSERT", "fields": [1]}]}, "row 1: expected a kind of .*found 'UPSERT'"),
        ({"c": "int"}, {"rows": [[1]]}, "row 1: expected { kind = INSERT, fields"),
        ({"c": "int"}, {"rows": [{"fields": [1]}, {"fields": [1, 2]}]}, "row 2: found 2 fields, expected 1"),
        ({"c": "int"}, {"rows": [{"fields": {"d": 1}}]}, r"row 1: the fields \['d'\]"),
        (COLUMNS, {"rows": [{"fields": {"n": 1}}]}, "column 'id' is null, but the schema declares nullable = false"),
    ],
)
def test_a_wrong_configuration_says_what_to_write(fields: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        source(fields, **options)


@pytest.mark.parametrize(
    ("key", "value"),
    [("tinyint.min", -129), ("smallint.template", [1, 40_000]), ("date.month.template", [13]), ("vector.dimension", 0)],
)
def test_a_value_that_its_type_does_not_have_is_refused_where_it_stands(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number from"):
        source({"c": "int"}, **{key: value})


@pytest.mark.parametrize(("kind", "start"), [("int", 2**31 - 5), ("bigint", 2**63 - 5), ("int", -(2**31) - 1)])
def test_counting_past_the_end_of_a_type_is_refused_before_any_row(kind: str, start: int) -> None:
    of = source({"c": kind}, **{"auto.increment.enabled": True, "auto.increment.start": start, "row.num": 3})
    with pytest.raises(SourceError, match=r"column 'c' with the range .*set a lower start"):
        plan(of, PlanningContext(parallelism=2))


@pytest.mark.parametrize(("kind", "start"), [("int", 2**31 - 3), ("bigint", 2**63 - 3), ("bigint", -(2**63))])
def test_counting_to_the_end_of_a_type(kind: str, start: int) -> None:
    of = source({"c": kind}, **{"auto.increment.enabled": True, "auto.increment.start": start, "row.num": 3})
    assert column(of) == [start, start + 1, start + 2]


def test_vectors_take_their_dimension_from_the_options_in_the_planned_schema() -> None:
    (schema,) = source({"a": "float_vector", "b": "binary_vector"}, **{"vector.dimension": 3}).planned_schemas()
    assert [type_name(field.type) for field in schema.columns] == ["float_vector(3)", "binary_vector(8)"]
    assert isinstance(schema.columns, pa.Schema)


JOB = """source { FakeSource {
    %s
    schema { columns = [
      { name = id, type = bigint }
      { name = v, type = %s }
    ]
    %s }
} }
sink { Console {} }
"""


@pytest.mark.parametrize(
    ("option", "kind", "more", "message"),
    [
        (
            "int.max = -1",
            "int",
            "",
            "job.conf:2:9: the source FakeSource: option 'int.max': -1 is less than int.min, which is 0",
        ),
        ("int.max = -1, int { min = 5 }", "int", "", "job.conf:2:25: the source FakeSource: option 'int.min': 5 is"),
        ("tinyint.min = -300", "int", "", "job.conf:2:19: the source FakeSource: 'tinyint.min': expected a whole"),
        ("rows = [{ fields = [1] }]", "int", "", "job.conf:2:5: the source FakeSource: option 'rows', row 1: found 1"),
        ("", "itn", "", "job.conf:5:7: the source FakeSource: option 'schema': column 'v': 'itn' is not a type"),
        ("", "binary_vector, columnScale = 9", "", "job.conf:5:7: .*'v': binary_vector.9. is invalid"),
        ("", "date, defaultValue = now", "", "job.conf:3:5: .*'schema': column 'v': defaultValue 'now' is not of type"),
        ("", "int", "primaryKey { columnNames = [a] }", "job.conf:3:5: .*'schema': the primary key contains .'a'."),
    ],
)
def test_a_message_says_where_to_write_what(option: str, kind: str, more: str, message: str) -> None:
    problems = Problems()
    text = JOB % (option, kind, more)
    job = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    with pytest.raises(ConfigError) as raised:
        plan_job(job, lookup, load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere")))
    assert re.match(message, str(raised.value)), str(raised.value)


def test_all_wrong_rows_are_reported_together() -> None:
    """The first one only was, and each further one after the next try."""
    wrong = "{ kind = INSRT, fields = [1, 1] }, { fields = [x, y] }, { fields = [1] }"
    problems = Problems()
    tree = parse(JOB % (f"rows = [ {wrong} ]", "int", ""), "job.conf", Variables({}, {}), problems)
    with pytest.raises(ConfigError) as raised:
        plan_job(read_job(tree, "job.conf", problems), lookup, load_engine(environment={"HOME": "/home/me"}))
    for said in ("row 1: expected a kind", "row 2: column 'id'", "row 2: column 'v'", "row 3: found 1 fields"):
        assert f"option 'rows', {said}" in str(raised.value)
