"""Interface of a file format for the source: division of files into splits, inference of columns, and reading."""

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
"""Format-specific part of a split's body, with the estimated bytes and rows."""


class SourceFormat(ABC):
    """A file format with the options of one source. Picklable, because it is sent to tasks.

    A format that overrides only ``infer`` and ``read`` has one split per file.
    """

    task_modules: tuple[str, ...] = ()
    """Top-level modules that reading imports in addition to pyarrow."""

    typed: bool = False
    """True if files declare the types of their columns, so that no types are inferred from values."""

    files: FileSystem = LocalFileSystem()

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self.options = options
        self.may_lack: frozenset[str] = frozenset()

    def let_lack(self, names: frozenset[str]) -> None:
        """Allow files to lack these columns; ``read`` then omits them."""
        self.may_lack = names

    def present(self, wanted: pa.Schema, names: Sequence[str], problem: str) -> pa.Schema:
        """Return the wanted columns that a file has; raise ``SourceError`` if a required one or all are missing.

        ``problem`` is the start of the message, such as ``"/data/a.csv: its header has no column"``.
        """
        known = set(names)
        absent = [name for name in wanted.names if name not in known]
        if absent and (len(absent) == len(wanted) or not self.may_lack.issuperset(absent)):
            raise SourceError(
                f"{problem} {', '.join(absent)}; it has {', '.join(names)}. If files may lack columns, set "
                "missing_columns = NULL, or give the column a defaultValue in schema, which may be null"
            )
        return pa.schema([column for column in wanted if column.name in known])

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        """Return the columns that the options define; by default, the declared columns."""
        return declared

    def must_inspect(self, version: FileVersion, planning: PlanningContext) -> bool:
        """Return True if a task must examine the file before it can be divided."""
        return False

    def chunks(self, version: FileVersion, planning: PlanningContext) -> Sequence[tuple[int, int]]:
        """Return the byte ranges to examine, one per task."""
        return [(0, version.size)]

    def examine(self, file: OpenFile, start: int, end: int, planning: PlanningContext) -> dict[str, Any]:
        """Examine one chunk in a task if ``must_inspect`` is true, and return JSON values for ``pieces``."""
        return {}

    def pieces(
        self, version: FileVersion, examined: Sequence[Mapping[str, Any]], columns: pa.Schema, planning: PlanningContext
    ) -> Iterator[Piece]:
        """Yield the splits of one file; ``examined`` contains the results of ``examine``, in order."""
        if version.size:
            yield {}, version.size, math.ceil(version.size / typical_row_bytes(columns))

    def whole(self, file: OpenFile) -> dict[str, Any]:
        """Return the format-specific part of the body of a split that is a whole file."""
        return {}

    def where(self, bodies: Sequence[Mapping[str, Any]]) -> str:
        """Describe the part of a file that consecutive splits cover, for messages."""
        return "the whole file"

    @abstractmethod
    def infer(self, file: OpenFile) -> pa.Schema:
        """Return the columns of a file; raise ``SourceError`` if they cannot be inferred."""

    def doubt(self, file: OpenFile) -> str:
        """Return a warning about a probable mistake in a file with inferred columns, or ``""``. Runs in a task."""
        return ""

    def found(self, file: OpenFile, start: int, end: int) -> Any:
        """Return information about a chunk's columns, as JSON for ``columns_found``, or ``None``. Runs in a task."""
        raise NotImplementedError(f"{self.name} infers columns from the first chunk of each file")

    def columns_found(self, found: Sequence[Any]) -> pa.Schema:
        """Return the columns of all files, from the results of ``found`` for their chunks, in order.

        By default, each result is a string that describes the columns of a file.
        """
        return together([schema_from_text(each) for each in found], typed=self.typed)

    def sample(self) -> str:
        """Describe the sample, such as ``"all rows of all files"``; return ``""`` for the beginning of each file."""
        return ""

    @abstractmethod
    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one split.

        Args:
            file: File of the split.
            body: Body of the split.
            columns: All columns of the file, in its order.
            wanted: Schema of the result, without the optional columns that the file lacks.
            context: Receives bad rows.

        Raises:
            RowError: A value is invalid; the message contains file, position, column, value and expected form.
            SourceError: The file is damaged.
        """


class DeclaredFormat(SourceFormat):
    """A format whose files contain no column names, so the job must declare the columns."""

    names: ClassVar[str]
    """Meaning of the names in the schema, such as ``the names of elements``."""

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        if declared is None:
            raise UsageError(
                f"option 'schema': required for {self.name}, with {self.names}: schema "
                f"{{ fields {{ id = bigint, name = string }} }}"
            )
        return declared

    def infer(self, file: OpenFile) -> pa.Schema:
        raise SourceError(f"{file.version.path}: the columns of {self.name} must be declared in schema")


def typical_row_bytes(columns: pa.Schema) -> float:
    """Return the assumed size of a row in a file that was not examined, for estimates."""
    return 8.0 * max(len(columns), 1)


def together(found: Sequence[pa.Schema], *, typed: bool) -> pa.Schema:
    """Merge the columns of several files. If files declare their types (``typed``), different types are an error."""
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
