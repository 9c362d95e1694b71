"""What ``--check`` sees of targets, and that it changes nothing there."""

import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema

COMES = TableSchema(table="t", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


def test_a_table_of_a_database(tmp_path: Path) -> None:
    forget()
    options = {"url": f"jdbc:sqlite:{tmp_path}/x.db", "generate_sink_sql": True, "table": "t"}
    sink = JdbcSink(options_of(JdbcSink, options))
    assert sink.dry_run((COMES,))[1:] == [
        "the table t will be created",
        f"the current user may create tables in {sink._dialect.address}",
    ]
    assert len(sink.dry_run(None)) == 1
    with sqlite3.connect(tmp_path / "x.db") as database:
        assert database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        database.execute("CREATE TABLE t (id integer, name text)")
    found = ["the table t exists and has all 2 columns", "the current user may INSERT there"]
    assert sink.dry_run((COMES,))[1:] == [*found, f"the current user may create tables in {sink._dialect.address}"]
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("ALTER TABLE t DROP COLUMN name")
    database.close()
    with pytest.raises(SinkError, match="the table t has no column 'name'"):
        sink.dry_run((COMES,))
    forget()


def test_a_file_of_sqlite_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    with sqlite3.connect(tmp_path / "x.db") as database:
        database.execute("CREATE TABLE t (id integer, name text)")
    database.close()
    options = {"url": f"jdbc:sqlite:{tmp_path}/x.db", "generate_sink_sql": True, "table": "t"}
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SinkError, match="the current user may not create tables in"):
        JdbcSink(options_of(JdbcSink, options)).dry_run((COMES,))
    forget()


def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sink(path: Path) -> LocalFileSink:
        return LocalFileSink(options_of(LocalFileSink, {"path": str(path), "file_format_type": "parquet"}))

    assert sink(tmp_path / "a/b").dry_run((COMES,)) == [f"the folder {tmp_path}/a/b will be created (writable)"]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(SinkError, match="file: Not a directory"):
        sink(tmp_path / "file/b").dry_run((COMES,))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SinkError, match="Permission denied"):
        sink(tmp_path / "a").dry_run((COMES,))


def test_a_table_of_iceberg(tmp_path: Path) -> None:
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/w"}
    options = {"iceberg.catalog.config": catalog, "namespace": "shop", "table": "t"}
    found = IcebergSink(options_of(IcebergSink, options)).dry_run((COMES,))
    assert found == ["the table shop.t will be created", "write permission not checked"]
    wrong = {**options, "iceberg.catalog.config": {**catalog, "uri": "sqlite:////no/such/c.db"}}
    with pytest.raises(SinkError, match="the catalog or its tables cannot be read"):
        IcebergSink(options_of(IcebergSink, wrong)).dry_run((COMES,))
