"""Staged files of a unit, grouped by table, as its committable stores them.

::

    {"tables": [{"table": ["shop", "orders"], "uuid": "…", "after": 17, "spec": 0, "last_column": 9,
      "files": [["….parquet"], …]}]}

A file's name is followed by the values of its partition. With ``write_mode = merge``, a table also has:
``keys``, equality delete files; ``positions``, position delete files for ``files``; ``by``, the key columns. Older
versions, which supported a single table, wrote a list of names: ``{"files": ["….parquet"]}``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import StoredValueError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.connectors.iceberg.partitions import Partition
from seatunnel_core.connectors.iceberg.staging import is_own_name
from seatunnel_core.connectors.iceberg.table_ids import TableId


@frozen(kw_only=True)
class StagedFiles:
    """Files of one unit for one table."""

    committable: str
    """ID of the committable that contains the files."""

    epoch: int
    table: TableId
    uuid: str
    """UUID of the table, which distinguishes it from a later table with the same name; ``""`` if unknown."""

    after: int
    """Last sequence number of the table before the files were staged. No snapshot up to this one refers to the
    files."""

    spec: int | None
    """ID of the partition spec by which the rows were divided; ``None`` for a table without partitions."""

    last_column: int | None = None
    """Highest field ID of the table's columns when the rows were staged; ``None`` if an earlier version staged them.
    Columns that are added later have higher IDs."""

    files: tuple[tuple[str, Partition], ...] = field(repr=False)
    """Name and partition of each data file."""

    keys: tuple[tuple[str, Partition], ...] = field(default=(), repr=False)
    """Name and partition of each equality delete file. The keys in it delete older rows."""

    positions: tuple[tuple[str, Partition], ...] = field(default=(), repr=False)
    """Name and partition of each position delete file, for rows in ``files`` that newer rows of the unit replace."""

    by: tuple[str, ...] = ()
    """Key columns by which rows are merged; empty if rows are only added."""

    @property
    def names(self) -> list[str]:
        """Names of all files."""
        return [name for name, _ in (*self.files, *self.keys, *self.positions)]


def part_of_body(
    table: TableId,
    *,
    uuid: str,
    after: int,
    spec: int | None,
    files: list[tuple[str, Partition]],
    last_column: int | None = None,
) -> dict[str, Any]:
    """Return the entry for one table in a committable's body."""
    return {
        "table": list(table),
        "uuid": uuid,
        "after": after,
        "spec": spec,
        "last_column": last_column,
        "files": written_files(files),
    }


def written_files(files: Iterable[tuple[str, Partition]]) -> list[list[str | None]]:
    """Return the names and partitions of files as they are stored in a committable."""
    return [[name, *partition] for name, partition in files]


def staged_files(committable: Committable, context: SinkContext, one: TableId | None) -> Iterator[StagedFiles]:
    """Yield a committable's files for each table; raise ``StoredValueError`` for a file that this sink did not stage.

    ``one`` is the only table of the sink; ``None`` if there are several.
    """
    body = committable.body
    if "tables" not in body and one is not None:
        names = stored.texts(body, "files")
        parts: list[Any] = [part_of_body(one, uuid="", after=0, spec=None, files=[(name, ()) for name in names])]
    else:
        parts = stored.items(body, "tables")
    for part in parts:
        table = tuple(stored.texts(part, "table"))
        if len(table) < 2 or (one is not None and table != one):
            raise StoredValueError(f"{ascii(table)[:200]} is not a table of this sink")
        yield StagedFiles(
            committable=committable.id,
            epoch=committable.epoch,
            table=table,
            uuid=stored.text(part, "uuid"),
            after=stored.number(part, "after"),
            spec=None if stored.member(part, "spec") is None else stored.number(part, "spec"),
            last_column=None if part.get("last_column") is None else stored.number(part, "last_column"),
            files=_files(part, "files", committable, context),
            keys=_files(part, "keys", committable, context) if "keys" in part else (),
            positions=_files(part, "positions", committable, context) if "positions" in part else (),
            by=tuple(stored.texts(part, "by")) if "by" in part else (),
        )


def _files(part: Any, key: str, committable: Committable, context: SinkContext) -> tuple[tuple[str, Partition], ...]:
    return tuple(_file(each, committable, context) for each in stored.items(part, key))


def _file(written: Any, committable: Committable, context: SinkContext) -> tuple[str, Partition]:
    name, *partition = written if isinstance(written, list) and written else [None]
    if not isinstance(name, str) or not is_own_name(name, context, committable.epoch, committable.unit):
        raise StoredValueError(f"{ascii(name)[:200]} is not the name of a staged file of this sink")
    if not all(value is None or isinstance(value, str) for value in partition):
        raise StoredValueError(f"{ascii(partition)[:200]} is not a list of partition values")
    return name, tuple(partition)


def by_table(found: list[StagedFiles]) -> Mapping[TableId, list[StagedFiles]]:
    """Group the files by table, in the order of the first file of each table."""
    tables: dict[TableId, list[StagedFiles]] = {}
    for each in found:
        tables.setdefault(each.table, []).append(each)
    return tables
