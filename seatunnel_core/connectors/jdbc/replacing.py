"""Tables in which the ``Jdbc`` sink collects rows or keys until the run is complete.

::

    seatunnel_<pipeline>_new_<digest>                       collected rows
    seatunnel_replacing (pipeline, collected, target)       target of each collecting table
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.families import Families
from seatunnel_core.connectors.jdbc.staging import prefix_of
from seatunnel_core.connectors.nested.child_tables import Family
from seatunnel_core.connectors.tables.replacement import Replacement
from seatunnel_core.connectors.tables.table_path import TablePath

REPLACING = "seatunnel_replacing"

TABLE = (
    f"CREATE TABLE IF NOT EXISTS {REPLACING} (pipeline varchar(255) NOT NULL, collected varchar(63) NOT NULL, "
    "target varchar(1000) NOT NULL, PRIMARY KEY (pipeline, collected))"
)


@frozen(kw_only=True)
class JdbcReplacement(Replacement):
    """Collecting tables. Their names do not contain a schema, so that the database chooses one."""

    database: Dialect

    @classmethod
    def of(
        cls, dialect: Dialect, context: SinkContext, partitions: tuple[str, ...], *, deletes: bool
    ) -> "JdbcReplacement":
        """Return the collecting tables of a sink."""
        return cls(
            database=dialect,
            context=context,
            sink="Jdbc",
            records=REPLACING,
            column="collected",
            partitions=partitions,
            deletes=deletes,
        )

    def collected(self, path: TablePath) -> str:
        return f"{prefix_of(self.context)}_new_{hashlib.sha256(chr(0).join(path).encode()).hexdigest()[:16]}"

    def place(self, path: TablePath) -> TablePath:
        return self.database.path_in("", self.collected(path))

    def exists(self, connection: Any, path: TablePath) -> bool:
        return self.database.table(connection, path) is not None

    def collects(self, connection: Any, path: TablePath) -> bool:
        name = self.collected(path)
        return name in self.database.tables(connection, None, name)

    def family(self, connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
        return Families(dialect=self.database, connection=connection).of(path, key)

    def clear(self, connection: Any) -> None:
        """Delete the records of the pipeline, and drop its collecting tables."""
        self.forget(connection)
        names = self.database.tables(connection, None, f"{prefix_of(self.context)}_new_")
        self.drop(connection, [(name,) for name in names])
