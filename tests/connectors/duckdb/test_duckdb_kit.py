"""The kit's suite on the sink ``DuckDB``, which adds rows and merges them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from seatunnel_core.connector_api.testing import SinkConformance
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from tests.connectors.duckdb.duckdb_file import FILE, asked, changed, staged


class TestDuckDB(SinkConformance):
    sink_class = DuckDBSink
    kills = 4
    more: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder / FILE), "table": "orders", "lock_timeout": 0, **self.more}

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "path": str(self.folder / "other" / FILE)}

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        known = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'orders'"
        if not (self.folder / FILE).exists() or not asked(self.folder, known):
            return []
        return [{"id": number, "name": name} for number, name in asked(self.folder, "SELECT id, name FROM orders")]

    def staged(self) -> int:
        return staged(self.folder)

    def lose(self) -> bool:
        """Move the file away; its staging folder stays."""
        (self.folder / FILE).rename(self.folder / "moved")
        return True

    def lose_table(self) -> bool:
        changed(self.folder, "DROP TABLE orders")
        return True


class TestDuckDBMerging(TestDuckDB):
    more: ClassVar[Mapping[str, Any]] = {"write_mode": "merge", "merge_key": "id"}


@pytest.mark.torture
class TestManyKills(TestDuckDBMerging):
    kills = 40
