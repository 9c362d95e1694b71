import sqlite3
from contextlib import closing

import pytest
from minimal_table_sink import SqliteTables

from seatunnel_core.connector_api.testing import SinkConformance


class TestSqliteTables(SinkConformance):
    sink_class = SqliteTables

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path):
        self.folder = tmp_path

    def options(self):
        return {"path": str(self.folder / "shop.db"), "table": "orders"}

    def elsewhere(self):
        return {**self.options(), "path": str(self.folder / "other" / "shop.db")}

    def emptying(self):
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def visible(self):
        if not self.ask("SELECT 1 FROM sqlite_master WHERE name = 'orders'"):
            return []
        return [{"id": number, "name": name} for number, name in self.ask("SELECT id, name FROM orders")]

    def staged(self):
        return len(list((self.folder / ".seatunnel").rglob("*.parquet")))

    def lose(self):
        (self.folder / "shop.db").rename(self.folder / "moved.db")
        return True

    def lose_table(self):
        self.ask("DROP TABLE orders")
        return True

    def ask(self, statement):
        with closing(sqlite3.connect(self.folder / "shop.db", isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()
