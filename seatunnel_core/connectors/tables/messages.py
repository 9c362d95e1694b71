"""Messages that table sinks share."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.rows.types import type_name

ADD_IT = "; add it, or write schema_contract = evolve"
WIDEN_IT = ", or write schema_contract = evolve to widen the column"
_NOT_WIDENED = (
    ". The option schema_contract cannot widen that column, because its values would change or the database does "
    "not support it; convert the column of the rows before this sink"
)


def taken_over(who: str, epoch: int | None, own: int) -> str:
    """Return the message for a job that a newer engine has taken over."""
    return f"{who}: another engine has taken over this job: its epoch is {epoch}, and the epoch of this engine is {own}"


def committed_before(who: str, where: str, committable: str) -> str:
    """Return the message for a committable that is already recorded as committed although this is its first commit."""
    return f"{who}: {where} records {committable} as committed before its first commit: another job may use this ID"


def not_own(who: str, committable: Committable, error: Exception) -> str:
    """Return the message for a committable that this sink did not stage."""
    return (
        f"{who}: the committable {ascii(committable.id)[:60]} was not created by this sink: {error}. None of its "
        "rows were published; restore an older checkpoint"
    )


def repeated_by_query(names: Sequence[str], values: Sequence[Any], table: str) -> str:
    """Return the message for a query that returned a key twice."""
    return (
        f"the key {key_text(names, values)} occurs twice in the result of a query. The result has no order, so it is "
        f"undefined which row {table} keeps; make the query return each key once, and start a new job"
    )


def different_keys(table: str, key: Sequence[str], other: Sequence[str]) -> str:
    """Return the message for a target into which the rows of several tables are merged by different keys."""
    first, second = (f"by the key ({', '.join(each)})" if each else "by all columns" for each in (other, key))
    return (
        f"rows of several tables are merged into {table}, some {first} and some {second}: set the same merge_key for "
        "all"
    )


def would_reset(who: str, named: str, column: str) -> str:
    """Return the message for a column that another program added to a table, and that the staged rows lack."""
    return (
        f"{who}: the table {named} has the column {column!r}, which the staged rows lack, so changes would reset its "
        "values. Nothing was written to it: drop the column, and resume the job"
    )


def key_text(names: Sequence[str], values: Sequence[Any]) -> str:
    """Return a key as a string for messages: ``id = 7, day = 2026-01-01``."""
    return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))


def missing_table(named: str, mode: str) -> str:
    """Return the message for a missing table that must not be created."""
    instead = "create it, or set CREATE_SCHEMA_WHEN_NOT_EXIST"
    return f"the table {named} does not exist, and schema_save_mode is {mode}; {instead}"


def not_empty(named: str) -> str:
    """Return the message for a table that must be empty but has rows."""
    return (
        f"the table {named} has rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty the table, choose another "
        "table, or set APPEND_DATA"
    )


def no_type(database: str, schema: TableSchema, column: pa.Field, error: TypeError) -> SinkError:
    """Return the error for a column of the rows for which the database has no type."""
    return SinkError(
        f"column {column.name!r} of the table {schema.table} has the type {type_name(column.type)}, but {database} has "
        f"no type for it ({error}); convert or remove the column"
    )


def no_column(named: str, column: str, known: Sequence[str], rows: str, *, adds: bool | None) -> SinkError:
    """Return the error for a column of the rows that a table lacks.

    ``adds`` is False if the sink is not configured to add columns, True if it cannot add this one, and ``None`` if it
    never adds columns.
    """
    meant = nearest(column, known)
    hint = ADD_IT if adds is False else f"; it has {', '.join(known)}" if adds is None else ""
    hint = f"; did you mean {meant}?" if meant else hint
    return SinkError(f"the table {named} has no column {column!r}, which the rows of {rows} have{hint}")


def unfit(column: pa.Field, declared: str, named: str, rows: str, *, widened: bool | None) -> SinkError:
    """Return the error for a column of the rows with values that do not fit the table's column.

    ``widened`` is True if ``schema_contract = evolve`` would widen the column, False if not, and ``None`` to omit this.
    """
    hint = _NOT_WIDENED if widened is False else f"; convert the column before this sink{WIDEN_IT if widened else ''}"
    return SinkError(
        f"column {column.name!r}: the rows of {rows} have the type {type_name(column.type)}, which does not fit into "
        f"{declared} of the table {named}{hint}"
    )


def not_widened(column: str, named: str, lost: str) -> str:
    """Return the message that a wider type would change values of a column; ``lost`` describes these values."""
    return (
        f"the column {column!r} of the table {named} contains {lost}, so it is not widened; convert the column of "
        "the rows before this sink"
    )


def shared_target(named: str, also: str = ", or also removes rows from it") -> str:
    """Return the message for two sinks of a job that replace the rows of the same table."""
    return (
        f"another sink of this job replaces the table {named}{also}, and only the result of the last sink would "
        "remain; use one sink"
    )


def not_prepared(table: str) -> SinkError:
    """Return the error for a writer of a table that ``create_tables`` has not prepared."""
    return SinkError(f"the table {table} was not prepared before its first row: call create_tables first")
