"""Extreme values of every type through every sink: each comes back as it was, or is refused with row and column.

The sinks come from the registry: one that nothing here drives fails by its name. The file formats that lose empty parts
of nested values, as their pages say, are in ``test_formats_keep_values.py``, databases in ``test_jdbc_values.py``.
"""

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define, field, frozen

from seatunnel_core.connector_api.sink import FrameSink, Sink, SinkWriter, Staged
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.testing import commit, options_of, plan
from seatunnel_core.connector_api.testing.drive import Skipped, begin, finished, place, sink_place
from seatunnel_core.connector_api.within_extent import writer_of
from seatunnel_core.connectors.http.content import Content
from seatunnel_core.connectors.messages.decoding import Message as Found
from seatunnel_core.connectors.redis.sink import RowCommands
from seatunnel_core.errors import RowError, RuleError, SinkError
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.extent import first_beyond
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.value_text import json_text
from seatunnel_core.spark.bad_rows import write_around
from tests.connectors.extreme_values import TYPES, VALUES, comparable, rows
from tests.connectors.iceberg.iceberg_tables import catalog_of, shop_in, table_in
from tests.connectors.kafka.sources import Message

OTHER_FORMATS = ("csv", "text", "json", "orc", "excel", "xml")
COLUMNS = pa.schema([("id", pa.int64()), *TYPES.items()])


@define
class Collecting(SinkWriter):
    """Keeps what a sink would send."""

    sent_of: Callable[[Batch], Sequence[Any]]
    sent: list[Any] = field(factory=list)

    def write(self, batch: Batch) -> None:
        self.sent += self.sent_of(batch)

    def finish(self) -> Staged:
        return Staged(body={}, rows=len(self.sent), bytes=0)

    def abort(self) -> None:
        """There is nothing to remove."""


@frozen
class Way:
    """How a sink is driven without its server, and how its rows are read back."""

    sink: str
    options: Mapping[str, Any]
    read: Callable[[Any, Path, pa.Schema], pa.Table]
    before: Callable[[Path], Any] = lambda _: None
    sends: Callable[[Any, Batch], Sequence[Any]] | None = None

    def made(self, folder: Path) -> Any:
        self.before(folder)
        kind = lookup.sink(self.sink)
        given = json.loads(json.dumps(dict(self.options)).replace("{folder}", str(folder)))
        made: Any = kind(options_of(kind, given))
        if self.sends is not None:
            sends, made.kept = self.sends, Collecting(lambda batch: sends(made, batch))
            made.open_writer = lambda schemas, place: made.kept
            made.prepare = made.commit = lambda *_, **__: None
        return made


def schema_of(columns: pa.Schema) -> dict[str, Any]:
    return {"fields": {column.name: type_name(column.type) for column in columns}}


def drained(source: Source) -> pa.Table:
    found = plan(source)
    batches = [batch.rows for split in found.splits for batch in source.read(split, Skipped())]
    return pa.Table.from_batches(batches, found.schemas[0].columns)


def of_files(_: Sink, folder: Path, columns: pa.Schema, **options: Any) -> pa.Table:
    source = lookup.source("LocalFile")
    given = {"path": f"{folder}/out", "schema": schema_of(columns), "xml_row_tag": "RECORD", **options}
    return drained(source(options_of(source, given)))


def file_way(format: str) -> Way:
    options = {"path": "{folder}/out", "file_format_type": format}
    return Way("LocalFile", options, lambda *given: of_files(*given, file_format_type=format))


def of_data_files(table: Any) -> pa.Table:
    """As they are: pyiceberg reads an array that is null inside of a row as an empty one."""
    paths = [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
    return pa.concat_tables([pq.ParquetFile(path).read() for path in paths])


def of_staging(_: Sink, folder: Path, columns: pa.Schema) -> pa.Table:
    return pa.concat_tables([pq.ParquetFile(path).read() for path in (folder / "staging").rglob("*.parquet")])


def of_duckdb(_: Sink, folder: Path, columns: pa.Schema) -> pa.Table:
    with duckdb.connect(folder / "shop.duckdb") as connection:
        return connection.sql("SELECT * FROM t").to_arrow_table()


def kafka_way(format: str) -> Way:
    options = {"bootstrap.servers": "localhost:9092", "topic": "t", "format": format}
    if format == "text":
        options["field_delimiter"] = "\x01"

    def read(sink: Any, _: Path, columns: pa.Schema) -> pa.Table:
        source: Any = lookup.source("Kafka")
        made = source(options_of(source, {**options, "schema": schema_of(columns)}))
        messages = [Message(value) for *_, value in sink.kept.sent]
        batches = [batch.rows for batch in made._decoder.batches(messages, Skipped())]
        return pa.Table.from_batches(batches, columns)

    return Way("Kafka", options, read, sends=lambda sink, batch: sink._encoder.messages(batch))


def redis_way() -> Way:
    options = {"host": "localhost", "port": 6379, "key": "rows", "data_type": "list"}

    def read(sink: Any, _: Path, columns: pa.Schema) -> pa.Table:
        source: Any = lookup.source("Redis")
        given = {"host": "localhost", "port": 6379, "keys": "rows", "data_type": "list", "schema": schema_of(columns)}
        made = source(options_of(source, given))
        elements = [Found("an element", value) for *_, value in sink.kept.sent]
        batches = [batch.rows for batch in made._decoder.batches(elements, Skipped())]
        return pa.Table.from_batches(batches, columns)

    def sends(sink: Any, batch: Batch) -> Sequence[Any]:
        return list(RowCommands(sink.options, TableSchema(table=batch.table, columns=batch.rows.schema)).of(batch))

    return Way("Redis", options, read, sends=sends)


def of_answers(sink: Any, _: Path, columns: pa.Schema) -> pa.Table:
    source = lookup.source("Http")
    content = Content.of(options_of(source, {"url": "http://localhost/", "schema": schema_of(columns)}))
    elements = content.elements(content.documents(f"[{','.join(sink.kept.sent)}]", "here"), "here")
    return pa.Table.from_batches(content.batches(elements, "here", Skipped()), columns)


WAYS: dict[str, Way] = {
    **{f"LocalFile {format}": file_way(format) for format in ("json", "parquet", "xml")},
    **{f"Kafka {format}": kafka_way(format) for format in ("json", "avro", "debezium_json")},
    "Redis": redis_way(),
    "Http": Way(
        "Http", {"url": "http://localhost/"}, of_answers, sends=lambda sink, batch: list(sink.bodies(batch.rows))
    ),
    "DuckDB": Way("DuckDB", {"path": "{folder}/shop.duckdb"}, of_duckdb),
    "Iceberg": Way(
        "Iceberg",
        {"namespace": "shop", "table": "t", "iceberg.catalog.config": catalog_of(Path("{folder}"))},
        lambda _, folder, columns: of_data_files(table_in(folder, "t")),
        shop_in,
    ),
    "Memory": Way("Memory", {}, lambda sink, *_: sink.collected()["t"]),
    "Spark": Way("Spark", {"format": "noop", "staging_path": "{folder}/staging"}, of_staging),
}


def begun(sink: Sink) -> tuple[SinkWriter, pa.Schema]:
    """A writer for as many columns as the sink takes; the others it has to name."""
    columns, here = COLUMNS, place()
    sink.prepare(sink_place(here))
    while True:
        schema = TableSchema(table="t", columns=columns)
        try:
            sink.check_schema(schema)
            if not isinstance(sink, FrameSink):
                sink.create_tables((schema,), sink_place(here))
            return writer_of(sink, (schema,), here), columns
        except SinkError as error:
            columns = columns.remove(columns.get_field_index(named_in(error)))


def named_in(error: Exception) -> str:
    found = re.search(r"column '(c\d+)'", str(error))
    assert found, f"{error} names no column"
    return found[1]


def written(writer: SinkWriter, columns: pa.Schema) -> tuple[dict[int, Any], list[str]]:
    """What was taken of each row, and what was refused otherwise than it has to be."""
    taken, wrong = {}, []
    for name in columns.names[1:]:
        some = rows(columns, name)
        try:
            refused = {
                each.place: each.error for each in write_around(writer, Batch(table="t", rows=some), nulls=False)
            }
        except Exception as error:
            wrong.append(f"{type_name(TYPES[name])}: {type(error).__name__}: {error}"[:300])
            continue
        wrong += [f"{error} names {error.column}" for error in refused.values() if error.column != name]
        for at in range(some.num_rows):
            if at not in refused:
                taken[some["id"][at].as_py()] = (name, comparable(some[name][at]))
    return taken, wrong


@pytest.mark.parametrize("name", WAYS)
def test_no_value_becomes_another(name: str, tmp_path: Path) -> None:
    sink = WAYS[name].made(tmp_path)
    writer, columns = begun(sink)
    taken, wrong = written(writer, columns)
    staged = finished(writer, place())
    if not isinstance(sink, FrameSink):
        commit(sink, [staged], place())
    back = WAYS[name].read(sink, tmp_path, columns)
    assert sorted(back["id"].to_pylist()) == sorted(taken)
    for at, id in enumerate(back["id"].to_pylist()):
        column, value = taken[id]
        found = comparable(back[column][at])
        if found != value:
            wrong.append(f"{type_name(TYPES[column])}: {value!r:.80} became {found!r:.80}")
        wrong += [f"{other} is there" for other in columns.names[1:] if other != column and back[other][at].is_valid]
    assert "\n".join(wrong) == ""


@pytest.mark.parametrize(
    "more",
    [{}, {"parquet_avro_write_timestamp_as_int96": True}, *({"file_format_type": each} for each in OTHER_FORMATS)],
    ids=str,
)
def test_moments_beyond_a_format_are_refused_by_row(more: Mapping[str, Any], tmp_path: Path) -> None:
    """They ended in an ``OverflowError``, or became moments of another millennium; a time of 24:00 became midnight."""
    kind: Any = lookup.sink("LocalFile")
    for name in ("date", "time", "timestamp", "timestamp_tz", "{a = timestamp_tz, b = date}"):
        column = list(TYPES)[list(VALUES).index(name)]
        some = rows(pa.schema([("id", pa.int64()), (column, TYPES[column])]), column)
        sink = kind(options_of(kind, {"path": f"{tmp_path}/{column}", "file_format_type": "parquet", **more}))
        sink.prepare(sink_place(place()))
        writer = begin(sink, TableSchema(table="t", columns=some.schema), place())
        refused = list(write_around(writer, Batch(table="t", rows=some), nulls=False))
        writer.abort()
        takes_all = not more and name != "time"
        bad = (
            []
            if takes_all
            else [at for at in range(len(some)) if first_beyond(some[column].slice(at, 1), lambda _: True)]
        )
        assert [each.place for each in refused] == bad
        assert {each.error.column for each in refused} <= {column}


@pytest.mark.parametrize("name", ["Kafka json", "Http"])
def test_half_of_a_surrogate_pair_is_no_text(name: str, tmp_path: Path) -> None:
    sink, columns = WAYS[name].made(tmp_path), pa.schema([("id", pa.int64()), ("c0", pa.string())])
    text = '{"id":1,"c0":"\\ud83d"}'
    sink.kept.sent = [text if name == "Http" else ("t", -1, None, text.encode())]
    with pytest.raises(RowError, match=r"column 'c0': .* is not of type string"):
        WAYS[name].read(sink, tmp_path, columns)


# -- what only shows rows, or compares them ----------------------------------------------------------------------------

SHOWN: dict[str, tuple[Mapping[str, Any], str]] = {
    "DingTalk": ({"url": "http://localhost/", "secret": "s"}, "text"),
    "WeChat": ({"url": "http://localhost/"}, "text"),
    "Slack": ({"webhooks_url": "http://localhost/"}, ""),
}


@pytest.mark.parametrize("name", SHOWN)
def test_values_that_differ_are_shown_differently(name: str) -> None:
    options, part = SHOWN[name]
    kind: Any = lookup.sink(name)
    made = kind(options_of(kind, options))
    wrong = []
    for column in TYPES:
        some = rows(COLUMNS, column).select([column])[:-1]
        kept = Collecting(lambda batch: list(made.bodies(batch.rows)))
        refused = list(write_around(guarded(made, kept), Batch(table="t", rows=some), nulls=False))
        wrong += [str(each.error) for each in refused if each.error.column != column]
        texts = [json.loads(body)[part]["content"] if part else json.loads(body)["text"] for body in kept.sent]
        if len(set(texts)) < some.num_rows - len(refused):
            wrong.append(f"{type_name(TYPES[column])}: {texts}"[:200])
    assert wrong == []


def guarded(sink: Any, inner: SinkWriter) -> SinkWriter:
    sink.open_writer = lambda schemas, place: inner
    return writer_of(sink, (), place())


def test_each_row_is_a_line_on_the_console() -> None:
    kind: Any = lookup.sink("Console")
    writer = writer_of(kind(options_of(kind, {})), (), place())
    taken, wrong = written(writer, COLUMNS)
    (packed,) = writer.finish().shown
    lines = zlib.decompress(base64.b64decode(packed)).decode().split("\n")
    assert len(lines) == len(taken) + 2, "a line for the table, and the end of the last line"
    assert wrong == []


def said(values: pa.Array, at: int) -> Any:
    """A value as a job writes it down; ``None`` where it cannot be, or is null."""
    if first_beyond(values.slice(at, 1), lambda _: True) is not None:
        return None
    try:
        return json.loads(json_text(values[at].as_py(), values.type), parse_float=str)
    except ValueError:  # a map that has a key twice
        return None


def test_assert_finds_each_value_equal_to_itself() -> None:
    """NaN was not, alone or inside of an array."""
    kind: Any = lookup.sink("Assert")
    for column in TYPES:
        some = rows(COLUMNS, column).select([column])
        for at in range(some.num_rows):
            expected = said(some[column], at)
            rule = {"field_name": column, "field_value": [{"equals_to": expected}]}
            writer = writer_of(kind(options_of(kind, {"rules": {"field_rules": [rule]}})), (), place())
            if expected is not None:
                writer.write(Batch(table="t", rows=some.slice(at, 1)))
                with pytest.raises(RuleError):
                    writer.write(Batch(table="t", rows=some.slice(some.num_rows - 1)))  # null


# -- sources without a file --------------------------------------------------------------------------------------------


def test_the_source_memory_gives_what_the_object_has() -> None:
    kind: Any = lookup.source("Memory")
    for column in TYPES:
        given = rows(COLUMNS, column).select([column])
        back = drained(kind(options_of(kind, {"data": given})))[column]
        assert list(map(comparable, back)) == list(map(comparable, given[column])), type_name(TYPES[column])


def test_fake_source_gives_what_the_job_writes_down() -> None:
    kind: Any = lookup.source("FakeSource")
    wrong = []
    for column in TYPES:
        values = rows(COLUMNS, column)[column]
        given = [(values[at], each) for at in range(len(values)) if (each := said(values, at)) is not None]
        written_down = [{"kind": "INSERT", "fields": [each]} for _, each in given]
        options = {"schema": schema_of(COLUMNS.empty_table().select([column]).schema), "rows": written_down}
        back = drained(kind(options_of(kind, options)))[column] if given else []
        for (value, each), found in zip(given, back, strict=True):
            if comparable(found) != comparable(value):
                wrong.append(f"{type_name(TYPES[column])}: {each!r:.80} became {comparable(found)!r:.80}")
    assert "\n".join(wrong) == ""


# -- all sinks ---------------------------------------------------------------------------------------------------------


def test_no_sink_is_left_out() -> None:
    known = [lookup.sink(name) for name in ("Assert", "Console", "Jdbc", *SHOWN, *(way.sink for way in WAYS.values()))]
    for plugin in lookup.plugins():
        if plugin.kind == "sink" and plugin.distribution == "seatunnel-core":
            sink: Any = lookup.sink(plugin.identifier)
            like = [each for each in known if writes_like(sink, each)]
            assert like, f"the sink {plugin.identifier} writes in a way of its own: add it to WAYS or SHOWN"


def writes_like(sink: Any, other: Any) -> bool:
    bodies = getattr(sink, "bodies", None), getattr(other, "bodies", None)
    return sink.open_writer is other.open_writer and bodies[0] is bodies[1]
