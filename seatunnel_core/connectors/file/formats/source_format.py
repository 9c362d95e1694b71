"""What a file format is to the source: how its files are cut, which columns they have, and how they are read."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.config.option import Options
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion, OpenFile
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.source import Planning, ReadContext
from seatunnel_core.errors import SourceError, UsageError

Piece = tuple[dict[str, Any], int, int]
"""What the body of a split says of its place in a file, and its bytes and rows (about)."""


class SourceFormat(ABC):
    """One format, with the options of one source. Picklable: it is shipped to tasks.

    A format that overrides nothing but ``infer`` and ``read`` has one split per file.
    """

    task_modules: tuple[str, ...] = ()
    """What reading imports beyond pyarrow."""

    typed: bool = False
    """Whether its files say which types their columns have, rather than suggest it."""

    files: FileSystem = LocalFileSystem()
    """Where its files are."""

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self.options = options
        self.may_lack: frozenset[str] = frozenset()

    def let_lack(self, names: frozenset[str]) -> None:
        """Say which columns a file need not have; ``read`` leaves out those that it does not."""
        self.may_lack = names

    def present(self, wanted: pa.Schema, names: Sequence[str], problem: str) -> pa.Schema:
        """The wanted columns that are among those of a file.

        Args:
            names: the columns of the file.
            problem: what is wrong when one is not, as far as its name: ``"/data/a.csv: its header has no column"``.

        Raises:
            SourceError: one has to be there and is not, or none is there.
        """
        absent = [name for name in wanted.names if name not in names]
        if absent and (len(absent) == len(wanted) or not self.may_lack.issuperset(absent)):
            raise SourceError(
                f"{problem} {', '.join(absent)}; it has {', '.join(names)}. Where files may lack columns, write "
                "missing_columns = NULL, or a defaultValue for the column in schema, which may be null"
            )
        return pa.schema([column for column in wanted if column.name in names])

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        """The columns of the files as far as the options tell: ``declared``, unless the format has columns of its own.

        Raises:
            SourceError: the format cannot hold a declared column.
            UsageError: it needs declared columns, and there are none.
        """
        return declared

    # -- planning -------------------------------------------------------------------------------------------------

    def must_inspect(self, version: FileVersion, planning: Planning) -> bool:
        """Whether a task has to look into the file before it can be cut."""
        return False

    def chunks(self, version: FileVersion, planning: Planning) -> Sequence[tuple[int, int]]:
        """The ranges of bytes that tasks look into, one each."""
        return [(0, version.size)]

    def examine(self, file: OpenFile, start: int, end: int, planning: Planning) -> dict[str, Any]:
        """What one chunk tells, in JSON values. In a task, when ``must_inspect`` says so."""
        return {}

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: Planning
    ) -> Iterator[Piece]:
        """The splits of one file.

        Args:
            examined: what ``examine`` returned for its chunks, in order.
        """
        if version.size:
            yield {}, version.size, math.ceil(version.size / typical_row_bytes(columns))

    def whole(self, file: OpenFile) -> dict[str, Any]:
        """What the body of a split that is all of the file says of its place."""
        return {}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        """Which part of a file the splits are, for a person, from the first to the last."""
        return "the whole file"

    # -- in tasks -------------------------------------------------------------------------------------------------

    @abstractmethod
    def infer(self, file: OpenFile) -> pa.Schema:
        """The columns of a file by itself.

        Raises:
            SourceError: they cannot be told.
        """

    @abstractmethod
    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one split.

        Args:
            columns: all columns of the file, in its order.
            wanted: those of them that are to be read; the schema of what is returned, but for those of ``may_lack``
                that the file does not have.

        Raises:
            RowError: a value is not what it should be; names file, place, column, value and what was expected.
            SourceError: the file is damaged.
        """


class DeclaredFormat(SourceFormat):
    """A format whose files do not tell their columns, so that a job has to declare them."""

    names: ClassVar[str]
    """What the names in the schema are, such as ``the names of elements``."""

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        if declared is None:
            raise UsageError(
                f"option 'schema': {self.name} needs it, with {self.names}: "
                "schema { fields { id = bigint, name = string } }"
            )
        return declared

    def infer(self, file: OpenFile) -> pa.Schema:
        raise SourceError(f"{file.version.path}: the columns of {self.name} are declared in schema")


def typical_row_bytes(columns: pa.Schema) -> float:
    """What a row of a file may have when nobody looked; used for predictions only."""
    return 8.0 * max(len(columns), 1)
