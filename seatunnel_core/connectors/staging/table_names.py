"""Folders and file names that depend on the table: ``/out/${database_name}/${table_name}``.

A variable may have a default for tables without a value, as in ``${schema_name:public}``; otherwise it is empty. Values
are escaped, so that a path cannot leave the target folder or contain a hidden folder or file.
"""

import re
from collections.abc import Callable, Iterable

import pyarrow as pa

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError, UsageError
from seatunnel_core.connectors.filesystems.partition_folders import folder_value
from seatunnel_core.connectors.staging.naming import check_expression
from seatunnel_core.rows.types import type_name

_LONGEST_NAME = 255


def _database(schema: TableSchema) -> str:
    return schema.table.split(".")[0] if "." in schema.table else ""


def _schema(schema: TableSchema) -> str:
    names = schema.table.split(".")
    return names[-2] if len(names) > 2 else ""


_VALUES: dict[str, Callable[[TableSchema], str]] = {
    "database_name": _database,
    "schema_name": _schema,
    "table_name": lambda schema: schema.table.split(".")[-1],
    "schema_full_name": lambda schema: schema.table.rpartition(".")[0],
    "table_full_name": lambda schema: schema.table,
    "primary_key": lambda schema: ",".join(schema.primary_key),
    "unique_key": lambda schema: ",".join(schema.unique_key),
    "field_names": lambda schema: ",".join(schema.columns.names),
    "comment": lambda schema: schema.comment or "",
}
VARIABLES = tuple(_VALUES)

VARIABLE = re.compile(r"\$\{(" + "|".join(VARIABLES) + r")(?::([^{}]*))?\}")


def filled(expression: str, schema: TableSchema, written: Callable[[str], str] = str) -> str:
    """Replace the table variables in an expression with values formatted by ``written``; keep other variables."""
    if "${" not in expression:
        return expression

    def value(found: re.Match[str]) -> str:
        said = _VALUES[found[1]](schema) or found[2] or ""
        return written(said) if said else ""

    return VARIABLE.sub(value, expression)


def table_folder(template: str, schema: TableSchema) -> str:
    """Return the table-dependent part of a path, for a template such as ``${database_name}/${table_name}``."""
    folders = [folder for part in template.split("/") if (folder := table_name_in(part, schema))]
    for folder in folders:
        if len(folder.encode()) > _LONGEST_NAME:
            raise SinkError(
                f"option 'path': the folder {folder[:60]}… of the table {schema.table} would have a name of "
                f"{len(folder.encode())} bytes, but a file system allows {_LONGEST_NAME}"
            )
    return "/".join(folders)


def any_folders(template: str) -> "list[re.Pattern[str]]":
    """Return regular expressions for the names of the folders of any table, from the target downwards."""
    parts = [re.split(r"\$\{[^}]*\}", part) for part in template.split("/") if part]
    return [re.compile(".*".join(map(re.escape, texts))) for texts in parts]


def table_name_in(expression: str, schema: TableSchema) -> str:
    """Return the name of a folder or file with its table variables replaced; other variables are unchanged."""
    name = filled(expression, schema, folder_value)
    return "%2E" + name[1:] if name.startswith(".") and name != expression else name


def checked_name(expression: str) -> str:
    """Return a pattern of file names, which may have table variables only after ``${transactionId}``.

    The job ID must precede a table's values, or a file could be mistaken for another job's.
    """
    before = expression.partition("${transactionId}")[0] if "${transactionId}" in expression else ""
    found = VARIABLE.search(before)
    if found:
        raise UsageError(
            f"option 'file_name_expression': {expression!r} contains {found[0]} before ${{transactionId}}; write "
            f'{found[0]} after ${{transactionId}}, such as "${{transactionId}}_{found[0]}"'
        )
    check_expression(VARIABLE.sub("", expression))
    return expression


def refuse_mixtures(
    written: Iterable[tuple[str, TableSchema, pa.Schema]], first: dict[str, tuple[TableSchema, pa.Schema]]
) -> None:
    """Reject two tables that share a folder with different columns, and add the new tables to ``first``.

    ``written`` contains each table's folder and file name pattern, its schema, and the columns of its files.
    """
    for place, schema, columns in written:
        other, others = first.setdefault(place, (schema, columns))
        if not columns.equals(others):
            raise SinkError(
                f"the tables {other.table} and {schema.table} would be written to one folder, "
                f"{_folder(place)}, with different columns, ({_shown(others)}) and ({_shown(columns)}); write "
                f"${{table_name}} into path, or use a separate sink for each"
            )


def _folder(place: str) -> str:
    return place.rpartition("/")[0] or "the target folder"


def _shown(columns: pa.Schema) -> str:
    return ", ".join(f"{column.name} {type_name(column.type)}" for column in columns)
