"""The interface of a file format for the source: how to cut its files, infer their columns, and read them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import PlanningContext, ReadContext
from seatunnel_core.connectors.file.formats.delimited.dialect import unify
from seatunnel_core.connectors.filesystems.filesystem import FileSystem, FileVersion, OpenFile
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.rows.schema_text import schema_from_text
from seatunnel_core.rows.unknown import is_unknown, marked

Piece = tuple[dict[str, Any], int, int]
"""The body of a split as far as it describes a part of a file, and its estimated bytes and rows."""


class SourceFormat(ABC):
    """One format, with the options of one source. Picklable: it is shipped to tasks.

    A format that overrides nothing but ``infer`` and ``read`` has one split per file.
    """

    task_modules: tuple[str, ...] = ()
    """Top-level modules that reading imports beyond pyarrow."""

    typed: bool = False
    """Whether its files declare the types of their columns, so that none is inferred from values."""

    files: FileSystem = LocalFileSystem()
    """The file system of its files."""

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self.options = options
        self.may_lack: frozenset[str] = frozenset()

    def let_lack(self, names: frozenset[str]) -> None:
        """Set the columns that a file may lack; ``read`` then leaves out those that it does not have."""
        self.may_lack = names

    def present(self, wanted: pa.Schema, names: Sequence[str], problem: str) -> pa.Schema:
        """Return the wanted columns that a file has.

        Args:
            wanted: the columns to read.
            names: the columns of the file.
            problem: the message for a missing column, up to its name: ``"/data/a.csv: its header has no column"``.

        Raises:
            SourceError: a column is missing that has to be there, or all are.
        """
        known = set(names)
        absent = [name for name in wanted.names if name not in known]
        if absent and (len(absent) == len(wanted) or not self.may_lack.issuperset(absent)):
            raise SourceError(
                f"{problem} {', '.join(absent)}; it has {', '.join(names)}. Where files may lack columns, write "
                "missing_columns = NULL, or a defaultValue for the column in schema, which may be null"
            )
        return pa.schema([column for column in wanted if column.name in known])

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        """Return the columns of the files as far as the options define them.

        Those are the ``declared`` ones, unless the format has fixed columns.

        Raises:
            SourceError: the format cannot hold a declared column.
            UsageError: it needs declared columns, and there are none.
        """
        return declared

    # -- planning -------------------------------------------------------------------------------------------------

    def must_inspect(self, version: FileVersion, planning: PlanningContext) -> bool:
        """Return whether a task has to examine the file before it can be cut."""
        return False

    def chunks(self, version: FileVersion, planning: PlanningContext) -> Sequence[tuple[int, int]]:
        """Return the ranges of bytes that tasks examine, one each."""
        return [(0, version.size)]

    def examine(self, file: OpenFile, start: int, end: int, planning: PlanningContext) -> dict[str, Any]:
        """Examine one chunk, and return JSON values for ``pieces``. Runs in a task, if ``must_inspect`` is true."""
        return {}

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[Piece]:
        """Yield the splits of one file.

        Args:
            version: the file.
            examined: the results of ``examine`` for its chunks, in order.
            columns: all columns of the file.
            planning: what the engine knows.
        """
        if version.size:
            yield {}, version.size, math.ceil(version.size / typical_row_bytes(columns))

    def whole(self, file: OpenFile) -> dict[str, Any]:
        """Return the body of a split that covers the whole file, as far as it describes a part of it."""
        return {}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        """Describe for the user the part of a file from the first to the last of some splits."""
        return "the whole file"

    # -- in tasks -------------------------------------------------------------------------------------------------

    @abstractmethod
    def infer(self, file: OpenFile) -> pa.Schema:
        """Return the columns that a file has by itself.

        Raises:
            SourceError: they cannot be inferred.
        """

    def doubt(self, file: OpenFile) -> str:
        """Return what users have probably meant otherwise, seen in a file whose columns are inferred; ``""`` if none.

        Runs in a task, after ``infer``.
        """
        return ""

    def found(self, file: OpenFile, start: int, end: int) -> Any:
        """Return what one chunk says about the columns, in JSON, for ``columns_found``; ``None`` for nothing.

        Runs in a task, for a format with a ``sample``.
        """
        raise NotImplementedError(f"{self.name} infers columns from the first chunk of each file")

    def columns_found(self, found: Sequence[Any]) -> pa.Schema:
        """Return the columns of all files, from what was found in their chunks, in order.

        Without a ``sample`` these are the columns of each file, as texts.

        Raises:
            SourceError: two files have types for a column that do not go together.
        """
        return together([schema_from_text(each) for each in found], typed=self.typed)

    def sample(self) -> str:
        """Return what columns are inferred from if it is more than the beginning of each file.

        For messages: ``"all rows of all files"``.
        """
        return ""

    @abstractmethod
    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one split.

        Args:
            file: the file of the split.
            body: of the split.
            columns: all columns of the file, in its order.
            wanted: the columns to read, and the schema of the result, except those of ``may_lack`` that the file lacks.
            context: receives bad rows.

        Raises:
            RowError: a value is invalid; the message names file, position, column, value and what was expected.
            SourceError: the file is damaged.
        """


class DeclaredFormat(SourceFormat):
    """A format whose files have no names of columns, so that a job has to declare them."""

    names: ClassVar[str]
    """The meaning of the names in the schema, such as ``the names of elements``."""

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
    """Return the size to assume for a row of a file that nobody examined; used for estimates only."""
    return 8.0 * max(len(columns), 1)


def together(found: Sequence[pa.Schema], *, typed: bool) -> pa.Schema:
    """Merge the columns of several files into those of one table.

    Args:
        found: the columns of each file.
        typed: whether files declare their types, so that types which do not go together are an error.

    Raises:
        SourceError: two files have types for a column that do not go together.
    """
    distinct = list({columns.to_string(): columns for columns in found}.values())
    if len(distinct) <= 1:
        return distinct[0] if distinct else pa.schema([])
    if typed:
        try:
            return pa.unify_schemas(distinct, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise SourceError(f"the files do not have the same columns: {error}") from error
    kinds: dict[str, list[pa.DataType]] = {}
    for columns in distinct:
        for column in columns:
            of_name = kinds.setdefault(column.name, [])
            if not is_unknown(column):
                of_name.append(column.type)
    return pa.schema([marked(name, unify(of_name) if of_name else pa.null()) for name, of_name in kinds.items()])
