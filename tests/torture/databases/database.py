"""Tables of a database server as the targets of a tortured job, in a database for each job: read without the engine's
code."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from tests.torture.databases.tables import Table, differing
from tests.torture.job import Target

_SINK = """
  Jdbc {{
    plugin_input = "{name}"
    url = "{url}"
    user = "{user}"
    password = "{password}"
    generate_sink_sql = true
    table = "{table}"
    is_exactly_once = true
    {more}
  }}
"""


@frozen(kw_only=True)
class DatabaseTarget(Target):
    """One table; the name of ``folder`` is its own, and the job's folder gives its database a name."""

    format: str = "database"

    @property
    def database(self) -> str:
        return "torture_" + hashlib.sha256(str(self.folder.parent).encode()).hexdigest()[:12]

    @abstractmethod
    def place(self) -> dict[str, str]:
        """``url``, ``user`` and ``password``."""

    @abstractmethod
    def ask(self, statement: str) -> list[Any] | None:
        """The rows that a statement gives; ``None`` when a table is not there."""

    @abstractmethod
    def quoted(self, name: str) -> str: ...

    def block(self, source: str) -> str:
        return _SINK.format(name=source, table=self.folder.name, more=self.more, **self.place())

    def differences(self) -> str:
        columns = self.table.columns
        names = ", ".join(self.quoted(name) for name in columns.names)
        rows = self.ask(f"SELECT {names} FROM {self.quoted(self.folder.name)}") or []
        values = zip(*rows, strict=True) if rows else [[] for _ in columns]
        arrays = [pa.array(each, column.type) for each, column in zip(values, columns, strict=True)]
        return differing(self.table, pa.table(arrays, columns))


def targets_in(kind: type[DatabaseTarget], out: Path, tables: Sequence[Table]) -> list[Target]:
    """A table for each of the job's, two for the first one. That of the planes has a row of yesterday's job, which
    ``data_save_mode`` is to drop: once, and never those of this job. Who calls makes that table."""
    found: list[Target] = []
    for table in tables:
        for name in (table.name, f"{table.name}_again") if table.name == "letters" else (table.name,):
            drops = "data_save_mode = DROP_DATA" if name == "planes" else ""
            found.append(kind(table=table, folder=out / name, more=drops))
    return found
