import os
import sqlite3
from contextlib import closing, contextmanager

import pyarrow as pa

from seatunnel_core.connector_api.option import STRING, Option
from seatunnel_core.connectors.tables.file_sink import FileStagedTableSink
from seatunnel_core.connectors.tables.options import FILE_STAGED_OPTIONS, TABLE
from seatunnel_core.connectors.tables.sql_database import SqlDatabase, TableColumn

PATH = Option("path", STRING, required=True, doc="The SQLite file, in a folder that driver and tasks share.")
INTEGERS = (pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint32(), pa.uint16(), pa.uint8(), pa.bool_())


class SqliteTables(FileStagedTableSink):
    """Tables of an SQLite file."""

    identifier, declared = "SqliteTables", (PATH, TABLE, *FILE_STAGED_OPTIONS)
    example = 'path = "/data/shop.db", table = orders'

    def __init__(self, options):
        self.path = os.path.abspath(options[PATH])
        super().__init__(options, Sqlite(self.path), os.path.dirname(self.path))

    @property
    def location(self):
        return {PATH.key: self.path}


class Sqlite(SqlDatabase):
    name = "SQLite"
    types = dict.fromkeys(INTEGERS, "INTEGER") | {pa.float64(): "REAL", pa.string(): "TEXT", pa.binary(): "BLOB"}

    def __init__(self, path):
        self.file = path

    @property
    def where(self):
        return self.file

    @property
    def exists(self):  # to open the file would create it
        return os.path.exists(self.file)

    @contextmanager
    def transaction(self):
        with closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")  # excludes other writers
            yield connection

    def failed(self, kind, what, error):
        found = kind(f"{what}: {error}")
        found.retryable = isinstance(error, sqlite3.OperationalError)  # such as a lock that another process holds
        return found

    def columns(self, connection, path):
        asked = f'SELECT name, type, NOT "notnull", dflt_value FROM pragma_table_info({self.literal(path[0])})'
        return [
            TableColumn(name=name, declared=declared, nullable=bool(nullable), filled=default is not None)
            for name, declared, nullable, default in self.ask(connection, asked)
        ]

    def load(self, connection, table, rows):
        places = ", ".join("?" * rows.num_columns)
        values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        connection.executemany(f"INSERT INTO {self.quoted(table)} VALUES ({places})", values)
