"""The sink ``Iceberg`` on a catalog in SQLite with tables in local files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from seatunnel_core.connector_api.testing import SinkConformance
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from tests.connectors.iceberg.iceberg_tables import catalog_of, table_in


class TestIcebergSink(SinkConformance):
    kills = 4  # each job commits nine times
    sink_class = IcebergSink

    @pytest.fixture(autouse=True)
    def target(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "table": "others"}

    def options(self) -> Mapping[str, Any]:
        return {"iceberg.catalog.config": catalog_of(self.folder), "namespace": "shop", "table": "orders"}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        return self.table().scan().to_arrow().to_pylist()

    def lose(self) -> bool:
        """Remove all that the catalog has, as where it was created again."""
        catalog = load_catalog("default", **catalog_of(self.folder))
        catalog.drop_table("shop.orders")
        catalog.drop_namespace("shop")
        return True

    def lose_table(self) -> bool:
        load_catalog("default", **catalog_of(self.folder)).drop_table("shop.orders")
        return True

    def table(self) -> Any:
        return table_in(self.folder, "orders")

    def staged(self) -> int:
        table = self.table()
        manifests = [manifest for snapshot in table.snapshots() for manifest in snapshot.manifests(table.io)]
        entries = [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]
        named = {Path(entry.data_file.file_path).name for entry in entries}
        return sum(path.name not in named for path in self.folder.rglob("data/**/*.parquet"))
