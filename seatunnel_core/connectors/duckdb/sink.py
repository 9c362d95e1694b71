"""The ``DuckDB`` sink: tables in one file, which only the driver writes."""

import os
from collections.abc import Mapping
from typing import ClassVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.duckdb import options as opt
from seatunnel_core.connectors.duckdb.database import Database
from seatunnel_core.connectors.duckdb.tables import DuckDBTables
from seatunnel_core.connectors.tables.file_sink import FileStagedTableSink


class DuckDBSink(FileStagedTableSink):
    """Tasks stage rows as Parquet next to the file, and the driver loads them.

    One DuckDB transaction contains both the rows and the commit record, so a commit that is repeated after a kill is
    recognised.
    """

    identifier: ClassVar[str] = "DuckDB"
    declared = opt.SINK_OPTIONS
    example = """
        path = "/data/shop.duckdb"
        table = orders
        write_mode = merge
        merge_key = [id]
    """

    def __init__(self, options: Options) -> None:
        path = os.path.abspath(options[opt.PATH])
        if wrong := [sign for sign in "*?[\\" if sign in path]:
            raise UsageError(
                f"option 'path': {path!r} contains {wrong[0]}, which DuckDB treats as a file pattern; choose "
                "another path"
            )
        database = Database(path=path, properties=dict(options[opt.PROPERTIES] or {}), wait_s=options[opt.WAIT])
        super().__init__(options, DuckDBTables(file=database), os.path.dirname(path))

    @property
    def location(self) -> Mapping[str, str]:
        return {opt.PATH.key: os.path.abspath(self.options[opt.PATH])}
