"""A table of Iceberg, with a catalog in SQLite, as the target of a tortured job: read without the engine's code."""

import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from tests.connectors.iceberg.iceberg_reading import visible_rows
from tests.torture.databases.tables import Table, differing
from tests.torture.databases.write_modes import MODES, expected, keeps_versions, tables_by_mode, yesterday
from tests.torture.job import Target, files_below

_SINK = """
  Iceberg {{
    plugin_input = "{name}"
    iceberg.catalog.config = {{ type = sql, uri = "sqlite:///{catalog}", warehouse = "file://{warehouse}" }}
    namespace = shop
    table = "{table}"
    {more}
  }}
"""


_MORE = {
    "letters": 'iceberg.table.partition-keys = "kind"',
    "planes": "data_save_mode = DROP_DATA",
}
"""Further options of a table's sink."""


@frozen(kw_only=True)
class IcebergTarget(Target):
    """One table; ``folder`` is where it lies in the warehouse."""

    format: str = "iceberg"

    @property
    def _catalog(self) -> Path:
        return self.folder.parent / "catalog.db"

    def block(self, source: str) -> str:
        warehouse = self.folder.parents[1]
        return _SINK.format(
            name=source, catalog=self._catalog, warehouse=warehouse, table=self.folder.name, more=self.more
        )

    def staged(self) -> set[str]:
        return {Path(path).name for path in files_below(self.folder / "data" / "seatunnel")} - self.published()

    def published(self) -> set[str]:
        """The names of the data files of the current snapshot: asked often, read once for each state of the table."""
        if not self._catalog.exists():
            return set()
        with closing(sqlite3.connect(f"file:{self._catalog}?mode=ro", uri=True)) as database:
            try:
                question = "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?"
                found = database.execute(question, (self.folder.name,)).fetchone()
            except sqlite3.OperationalError:  # no tables yet, or a process is writing just now
                return set()
        return set(self._named(found[0])) if found else set()

    def _named(self, metadata: str) -> frozenset[str]:
        return _named(metadata)

    def free(self) -> bool:
        """A process that is put to sleep in the midst of a commit keeps SQLite's file locked. Nobody could go on then
        until it is woken, and it is woken when somebody has."""
        if not self._catalog.exists():
            return True
        with closing(sqlite3.connect(self._catalog, timeout=0, isolation_level=None)) as database:
            try:
                database.execute("BEGIN EXCLUSIVE")
                database.execute("ROLLBACK")
            except sqlite3.OperationalError:
                return False
        return True

    def differences(self) -> str:
        rows = _table(self).scan().to_arrow().select(self.table.columns.names).cast(self.table.columns)
        return differing(self.table, rows)


@lru_cache(1024)
def _named(metadata: str) -> frozenset[str]:
    from pyiceberg.table import StaticTable

    files = StaticTable.from_metadata(metadata).scan().plan_files()
    return frozenset(Path(task.file.file_path).name for task in files if "/seatunnel/" in task.file.file_path)


def _table(target: IcebergTarget, columns: pa.Schema | None = None) -> Any:
    from pyiceberg.catalog import load_catalog

    location = f"sqlite:///{target._catalog}"
    catalog = load_catalog("default", type="sql", uri=location, warehouse=f"file://{target.folder.parents[1]}")
    if columns is not None:
        catalog.create_namespace_if_not_exists("shop")
        return catalog.create_table(("shop", target.folder.name), columns)
    return catalog.load_table(("shop", target.folder.name))


def iceberg_targets(out: Path, tables: tuple[Table, ...]) -> list[Target]:
    """A table for each of the job's, two for the first one, of which one has partitions. That of the planes has a row
    of yesterday's job, which ``data_save_mode`` is to drop: once, and never those of this job."""
    shop = out / "shop"
    shop.mkdir(parents=True)
    targets: list[Target] = []
    for table in tables:
        for name in (table.name, "letters-again") if table.name == "letters" else (table.name,):
            target = IcebergTarget(table=table, folder=shop / name, more=_MORE.get(name, ""))
            targets.append(target)
            if name == "planes":
                row = pa.Table.from_pylist([{"tailnum": "N00000"}], schema=table.columns)
                _table(target, table.columns).append(row)
    return targets


@frozen(kw_only=True)
class IcebergModes(IcebergTarget):
    """One table that is merged into or replaced."""

    def _named(self, metadata: str) -> frozenset[str]:
        """Of all snapshots: rows that are to replace others are collected in those of a branch."""
        from pyiceberg.table import StaticTable

        table = StaticTable.from_metadata(metadata)
        manifests = {each.manifest_path: each for shot in table.snapshots() for each in shot.manifests(table.io)}
        return frozenset(name for each in manifests.values() for name in _files_of(table.io, each))

    def differences(self) -> str:
        rows = [{name: row[name] for name in self.table.columns.names} for row in visible_rows(_table(self))]
        return differing(self.table, pa.Table.from_pylist(rows, self.table.columns))


_FILES: dict[str, frozenset[str]] = {}
"""What manifests name, which never change."""


def _files_of(io: Any, manifest: Any) -> frozenset[str]:
    if manifest.manifest_path not in _FILES:
        entries = manifest.fetch_manifest_entry(io)
        paths = (entry.data_file.file_path for entry in entries)
        _FILES[manifest.manifest_path] = frozenset(Path(path).name for path in paths if "/seatunnel/" in path)
    return _FILES[manifest.manifest_path]


def iceberg_modes_targets(out: Path, tables: tuple[Table, ...]) -> list[Target]:
    """A table for each write mode, with rows of yesterday."""
    shop = out / "shop"
    shop.mkdir(parents=True)
    made: list[Target] = []
    for name, table in ((name, table) for name, table in tables_by_mode(tables) if not keeps_versions(name)):
        more = MODES[name].replace(", is_exactly_once = true", "")
        target = IcebergModes(table=expected(name, table), folder=shop / name, more=more)
        made.append(target)
        old = yesterday(name, table)
        if old.num_rows:
            _table(target, table.columns).append(old)
    return made
