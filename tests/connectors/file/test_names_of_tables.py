"""A source without ``schema.table`` gives its table the name by which other nodes take its rows, as SeaTunnel does."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.config.option import Options
from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.testing import options_of, plan
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.connectors.http.content import Content
from seatunnel_core.connectors.http.source import HttpSource
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.connectors.memory.source import MemorySource
from seatunnel_core.connectors.spark_reader import SparkSource

FIELDS = {"fields": {"id": "bigint"}}


def given(plugin: type[Source], values: Mapping[str, Any], output: str | None) -> Options:
    """The options as a job has them, with those that every node has."""
    own = options_of(plugin, values)
    return Options({**{key: own[key] for key in own if own.is_set(key)}, "plugin_output": output}, plugin.declared)


def table_of(plugin: type[Source], values: Mapping[str, Any], output: str | None = "parcels") -> str:
    (schema,) = plan(source_of(plugin, given(plugin, values, output))).schemas
    return schema.table


def test_of_files(tmp_path: Path) -> None:
    """Every table was ``default``, and so the folder of a sink with ``${table_name}`` in its path."""
    (tmp_path / "a.json").write_text(json.dumps({"id": 1}) + "\n")
    options: dict[str, Any] = {"path": str(tmp_path), "file_format_type": "json"}
    assert table_of(LocalFileSource, options) == "parcels"
    assert table_of(LocalFileSource, {**options, "schema": FIELDS}) == "parcels"
    assert table_of(LocalFileSource, {**options, "schema": {"table": "shop.x", **FIELDS}}) == "shop.x"
    assert table_of(LocalFileSource, options, None) == "default"


def test_of_a_source_that_makes_rows() -> None:
    assert table_of(FakeSource, {"schema": FIELDS}) == "parcels"
    assert table_of(FakeSource, {"schema": {"table": "x", **FIELDS}}) == "x"
    made = source_of(FakeSource, given(FakeSource, {"schema": FIELDS, "table-names": ["a", "b"]}, "parcels"))
    assert [schema.table for schema in plan(made).schemas] == ["a", "b"]


def test_of_a_service() -> None:
    options = given(HttpSource, {"url": "http://localhost/"}, "parcels")
    assert Content.of(options).schema.table == "parcels"
    assert Content.of(given(HttpSource, {"url": "http://localhost/", "schema": FIELDS}, "parcels")).schema.table == (
        "parcels"
    )


def test_of_an_object_in_python() -> None:
    table = pa.table({"id": [1]})
    assert table_of(MemorySource, {"data": table}) == "parcels"
    assert table_of(MemorySource, {"data": table, "table": "x"}) == "x"


def test_of_what_spark_reads() -> None:
    assert SparkSource(given(SparkSource, {"format": "parquet", "path": "/in"}, "parcels")).table == "parcels"


def test_of_a_query(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE people (id INTEGER)")
    database.close()
    url = f"jdbc:sqlite:{tmp_path}/a.db"
    assert table_of(JdbcSource, {"url": url, "query": "SELECT id FROM people"}) == "parcels"
    assert table_of(JdbcSource, {"url": url, "table_path": "people"}) == "people"


@pytest.mark.parametrize(("topic", "name"), [("orders", "orders"), ("a,b", "parcels")])
def test_of_topics(topic: str, name: str) -> None:
    """One topic is a name already."""
    made = KafkaSource(given(KafkaSource, {"bootstrap.servers": "localhost:9092", "topic": topic}, "parcels"))
    assert made._decoder.schema.table == name
