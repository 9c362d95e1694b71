"""Sources of several tables: ``tables_configs`` and, for ``FakeSource``, ``table-names``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.config.document import Block, from_code
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, validate
from seatunnel_core.connector_api.several_tables import SeveralTables, source_of
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.testing import Skipped, SourceConformance, options_of, plan
from seatunnel_core.connector_api.testing.drive import shipped, through_json
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.split import Split

ORDERS = {"table": "shop.orders", "fields": {"id": "bigint"}}
PEOPLE = {"table": "shop.people", "fields": {"name": "string", "age": "int"}}


def counted(table: str, rows: int, **more: Any) -> dict[str, Any]:
    schema = {"table": table, "fields": {"id": "bigint"}}
    return {"schema": schema, "row.num": rows, "auto.increment.enabled": True, "split.read-interval": 0, **more}


def fake(*entries: Mapping[str, Any], **options: Any) -> Source:
    asked = {"tables_configs": list(entries), **options} if entries else options
    return source_of(FakeSource, options_of(FakeSource, asked))


def by_table(source: Source, found: Enumeration, splits: Sequence[Split] | None = None) -> dict[str, list[Any]]:
    """The first value of each row, by table."""
    rows: dict[str, list[Any]] = {}
    for split in found.splits if splits is None else splits:
        for batch in shipped(source).read(split, Skipped()):
            rows.setdefault(batch.table, []).extend(batch.rows.column(0).to_pylist())
    return rows


class TestSeveralFakeTables(SourceConformance):
    source_class = FakeSource

    def options(self) -> Mapping[str, Any]:
        entries = [counted("a", 30, **{"split.num": 3}), {"schema": PEOPLE, "rows": [{"fields": ["Ada", 36]}]}]
        return {"tables_configs": entries}

    def source(self) -> Source:
        return source_of(FakeSource, options_of(FakeSource, self.options()))

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": number} for number in range(1, 61)] + [{"name": "Ada", "age": 36}] * 2


def test_each_table_has_its_columns_and_its_number_of_rows() -> None:
    source = fake(counted("shop.orders", 3), {"schema": PEOPLE, "row.num": 2})
    found = plan(source, PlanningContext(parallelism=2))
    assert found.schemas == source.planned_schemas()
    assert [schema.table for schema in found.schemas] == ["shop.orders", "shop.people"]
    rows = by_table(source, found)
    assert rows["shop.orders"] == [1, 2, 3, 4, 5, 6]
    assert len(rows["shop.people"]) == 4


def test_one_table_alone_is_planned_as_ever() -> None:
    source = fake(**counted("a", 3))
    assert isinstance(source, FakeSource)
    assert plan(source).splits[0].body == {"start": 0, "rows": 3}


def test_tables_of_one_schema_by_their_names() -> None:
    source = fake(**{**counted("ignored", 2), "table-names": ["x.a", "x.b"]})
    assert by_table(source, plan(source)) == {"x.a": [1, 2], "x.b": [1, 2]}
    without = fake(schema={"fields": {"id": "bigint"}}, **{"table-names": "a,b,a"})
    assert [schema.table for schema in plan(without).schemas] == ["a", "b"]


def test_the_kinds_of_written_rows_belong_to_their_table() -> None:
    written = [{"kind": "DELETE", "fields": [7]}]
    source = fake({"schema": ORDERS, "rows": written}, {"schema": PEOPLE, "row.num": 1})
    found = plan(source)
    kinds = {batch.table: batch.kinds for split in found.splits for batch in source.read(split, Skipped())}
    assert kinds == {"shop.orders": pa.array([3], pa.int8()), "shop.people": None}


def test_large_tables_come_in_turns_and_small_ones_in_one_piece() -> None:
    big = {"string.length": 10_000, "schema": {"table": "big", "fields": {"a": "string"}}}
    source = fake(
        {**big, "row.num": 16_000, "split.num": 16},
        {**big, "row.num": 16_000, "split.num": 16, "schema": {**big["schema"], "table": "big2"}},  # type: ignore[dict-item]
        counted("small", 40, **{"split.num": 4}),
    )
    tables = [split.body["table"] for split in plan(source).splits]
    assert tables[:12] == ["big"] * 4 + ["big2"] * 4 + ["small"] * 4
    assert tables[12:] == (["big"] * 4 + ["big2"] * 4) * 3


def test_a_stream_of_several_tables_gives_each_at_its_pace() -> None:
    source = fake(
        counted("a", 4, **{"split.num": 4, "split.read-interval": 1_000}),
        counted("b", 2, **{"split.num": 2, "split.read-interval": 3_000}),
    )
    source.run_in(streaming=True)
    assert not source.bounded
    planning = PlanningContext(parallelism=1)
    assert source.enumerate(source.discover(planning), planning).splits == ()
    memory: dict[str, Any] = {}
    came, paces = [], []
    while True:
        polled = source.poll(through_json(memory), planning)
        memory = dict(polled.cursor)
        came.append(sorted(item["table"] for item in polled.items))
        splits = source.enumerate(polled.items, planning).splits if polled.items else ()
        assert len(splits) == len(polled.items)
        paces.append(polled.again_ms)
        if len(came) > 1 and came[-2:] == [[], []]:
            break
    assert came == [["a", "b"], ["a"], ["a"], ["a", "b"], [], []]
    assert paces[:-1] == [1_000, 1_000, 1_000, 1_000, 2_000]
    assert paces[-1] is not None
    assert paces[-1] > 10_000, "both tables have given all of their rows, and the job waits"


class Letters(Source):
    """Never ends: has one split at the start, and one more for each item, which some tables look into first."""

    identifier = "Letters"
    declared = ()
    bounded = False

    def __init__(self, *, looks_into: bool) -> None:
        super().__init__(Options({}, ()))
        self.looks_into = looks_into

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        letters = [item["letter"] for item in inspected] or ["start"]
        splits = [Split(index=at, weight_bytes=1, rows=1, body={"letter": each}) for at, each in enumerate(letters)]
        return Enumeration(schemas=(), splits=tuple(splits))

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        return {"letter": item["letter"].upper()}

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        return PollResult(items=({"letter": "a"},), inspect=self.looks_into, cursor={}, again_ms=None)

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        raise AssertionError


def test_news_of_one_table_concern_no_other_one() -> None:
    letters = {"upper": Letters(looks_into=True), "lower": Letters(looks_into=False)}
    source, planning = SeveralTables(Options({}, ()), letters), PlanningContext(parallelism=1)

    def splits(items: Sequence[DiscoveredObject]) -> list[Any]:
        inspected = [source.inspect(through_json(dict(item)), planning) for item in items]
        found = source.enumerate(inspected, planning).splits
        return [(split.index, split.body["table"], split.body["split"]["letter"]) for split in found]

    assert splits(()) == [(0, "upper", "start"), (1, "lower", "start")]
    items = source.poll({}, planning).items
    assert splits(items) == [(0, "upper", "A"), (1, "lower", "a")]
    assert splits(items[:1]) == [(0, "upper", "A")]


def test_tables_that_end_stand_apart_from_those_that_do_not() -> None:
    endless: Source = Letters(looks_into=True)
    with pytest.raises(UsageError, match="the tables b are unbounded, but the others are bounded"):
        SeveralTables(Options({}, ()), {"a": fake(**counted("a", 1)), "b": endless})


class ReportingLetters(Letters):
    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        return cursor


def test_tables_of_a_source_that_receives_facts_are_refused() -> None:
    """Nothing would pass the facts of their readers to them."""
    with pytest.raises(
        UsageError,
        match=r"'tables_configs': Letters does not support this option, because the source implements absorb",
    ):
        SeveralTables(Options({}, ()), {"a": ReportingLetters(looks_into=True)})


def test_a_table_that_is_no_entry_any_more_cannot_be_read_on() -> None:
    found = plan(fake(counted("a", 1), counted("b", 1)))
    now = fake(counted("a", 1), counted("c", 1))
    assert by_table(now, found, found.splits[:1]) == {"a": [1]}
    with pytest.raises(SourceError, match="table 'b' was planned when the job started"):
        by_table(now, found)


def test_splits_are_described_with_their_tables() -> None:
    source = fake(counted("a", 2), counted("b", 3))
    assert source.describe(plan(source).splits) == ["table a: rows 1 to 2", "table b: rows 1 to 3"]


@pytest.mark.parametrize(
    ("entries", "more", "message"),
    [
        ([counted("a", 1), counted("a", 2)], {}, "entry 2 has the same table 'a' as another"),
        ([{"schema": {"fields": {"id": "bigint"}}}] * 2, {}, "entry 2 has the same table 'default'"),
        ([counted("a", 1), {"schema": {"table": "b"}}], {}, "entry 2: option 'schema': expected at least one column"),
        ([counted("a", 1)], {"row.num": 3}, "option 'row.num' has no effect on the entries of tables_configs"),
        ([counted("a", 1)], {"table-names": ["b"]}, "option 'table-names' has no effect on the entries of"),
    ],
)
def test_entries_that_do_not_go_together(entries: list[Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fake(*entries, **more)


def files(folder: Path, **more: Any) -> Source:
    """Orders as csv in two files, people as json without a schema."""
    for name, text in {
        "orders/a.csv": "1,Rome\n2,Oslo\n",
        "orders/b.csv": '3,"Ro\nme"\n',
        "people/a.json": '{"name": "Ada"}\n{"name": "Bob"}\n',
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    orders = {"table": "shop.orders", "fields": {"id": "int", "city": "string"}, "primaryKey": {"columns": ["id"]}}
    entries = [
        {"path": f"{folder}/orders", "file_format_type": "csv", "schema": orders},
        {"path": f"{folder}/people", "file_format_type": "json", "schema": {"table": "shop.people"}},
    ]
    for entry in entries:
        entry.update(more)
    return source_of(LocalFileSource, options_of(LocalFileSource, {"tables_configs": entries}))


@pytest.mark.parametrize("rows_per_second", [None, 1])
def test_files_of_several_tables_are_looked_into_and_read(tmp_path: Path, rows_per_second: int | None) -> None:
    source = files(tmp_path)
    source.require_input()
    found = plan(source, PlanningContext(parallelism=2, rows_per_second=rows_per_second))
    assert [(each.table, each.columns.names, each.primary_key) for each in found.schemas] == [
        ("shop.orders", ["id", "city"], ("id",)),
        ("shop.people", ["name"], ()),
    ]
    assert source.planned_schemas() == found.schemas
    assert by_table(source, found) == {"shop.orders": [1, 2, 3], "shop.people": ["Ada", "Bob"]}
    assert source.read_paths == (f"{tmp_path}/orders", f"{tmp_path}/people")
    assert source.read_path == f"{tmp_path}/orders, {tmp_path}/people"
    (tmp_path / "people/a.json").unlink()
    (tmp_path / "people").rmdir()
    with pytest.raises(SourceError, match=r"table shop\.people: .*/people"):
        source.require_input()


def test_a_key_of_an_entry_is_found_missing() -> None:
    problems = Problems()
    tree = from_code({"tables_configs": [{"path": "/a"}]})
    assert isinstance(tree, Block)
    validate(tree, LocalFileSource.declared, BlockRules(what="the source LocalFile"), problems)
    (problem,) = problems.found
    assert problem.message.startswith("entry 1 of tables_configs in the source LocalFile needs the option 'file_format")


def test_a_watched_folder_stands_apart_from_one_that_is_read_once(tmp_path: Path) -> None:
    entries = [
        {"path": f"{tmp_path}/a", "file_format_type": "csv", "discovery_mode": "continuous", "schema": ORDERS},
        {"path": f"{tmp_path}/b", "file_format_type": "csv", "schema": {"table": "b"}},
    ]
    options = options_of(LocalFileSource, {"tables_configs": entries})
    with pytest.raises(UsageError, match=r"the tables shop\.orders are unbounded, but the others are bounded"):
        source_of(LocalFileSource, options)


def problems_of(block: dict[str, Any]) -> list[str]:
    problems = Problems()
    tree = from_code(block)
    assert isinstance(tree, Block)
    validate(tree, FakeSource.declared, BlockRules(what="the source FakeSource"), problems)
    return [problem.message for problem in problems.found]


def test_an_entry_is_judged_like_a_block() -> None:
    assert problems_of({"tables_configs": [counted("a", 1)]}) == []
    assert problems_of({}) == ["the source FakeSource needs the option 'schema' (schema)"]
    assert problems_of({"tables_configs": [{"row.num": "many"}, {"schema": ORDERS, "row.nums": 1}]}) == [
        "entry 1 of tables_configs in the source FakeSource: 'row.num' (in rows): expected a whole number, "
        "found 'many'",
        "entry 1 of tables_configs in the source FakeSource needs the option 'schema' (schema)",
        "entry 2 of tables_configs in the source FakeSource has no option 'row.nums'",
    ]
    assert problems_of({"tables_configs": ["a"]}) == [
        "the source FakeSource: 'tables_configs': expected a list of blocks [ { … } ]"
    ]
