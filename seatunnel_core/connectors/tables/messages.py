"""Messages that table sinks share."""

from collections.abc import Sequence
from typing import Any

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.values import Committable

__all__ = [
    "committed_before",
    "key_text",
    "missing_table",
    "not_empty",
    "not_own",
    "not_prepared",
    "not_widened",
    "repeated_by_query",
    "shared_target",
    "taken_over",
]


def taken_over(who: str, epoch: int | None, own: int) -> str:
    """Return the message for a job that a newer engine has taken over."""
    return f"{who}: another engine has taken over this job: its epoch is {epoch}, this one has {own}"


def committed_before(who: str, where: str, committable: str) -> str:
    """Return the message for a first commit that the target already records as done."""
    return f"{who}: {where} records {committable} as committed before its first commit: does another job use this ID?"


def not_own(who: str, committable: Committable, error: Exception) -> str:
    """Return the message for a committable that this sink did not stage."""
    return (
        f"{who}: the committable {ascii(committable.id)[:60]} was not created by this sink: {error}. Nothing of it "
        "was published; restore an older checkpoint"
    )


def repeated_by_query(names: Sequence[str], values: Sequence[Any], table: str) -> str:
    """Return the message for a query that returned a key twice."""
    return (
        f"the key {key_text(names, values)} occurs twice in the result of a query. Its rows have no order, so it is "
        f"not defined which one {table} should keep; make the query return each key once, and start a new job"
    )


def key_text(names: Sequence[str], values: Sequence[Any]) -> str:
    """Return the text of a key for messages: ``id = 7, day = 2026-01-01``."""
    return ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))


def missing_table(named: str, mode: str) -> str:
    """Return the message for a table that does not exist and must not be created."""
    instead = "create it, or set CREATE_SCHEMA_WHEN_NOT_EXIST"
    return f"the table {named} does not exist, and schema_save_mode is {mode}; {instead}"


def not_empty(named: str) -> str:
    """Return the message for a table that must be empty and is not."""
    return (
        f"the table {named} has rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS; empty it, choose another, or set "
        "APPEND_DATA"
    )


def not_widened(column: str, named: str, lost: str) -> str:
    """Return the message that a wider type would change values of a column; ``lost`` describes these values."""
    return (
        f"the column {column!r} of the table {named} has {lost}, so it is not widened; convert the column of the rows "
        "before this sink"
    )


def shared_target(named: str, also: str = ", or also removes rows from it") -> str:
    """Return the message for two sinks of a job that replace the rows of one table."""
    return f"another sink of this job replaces the table {named}{also}, and the last one would win; use one sink"


def not_prepared(table: str) -> SinkError:
    """Return the error for a writer of a table that ``create_tables`` has not prepared."""
    return SinkError(f"the table {table} was not prepared before its first row: call create_tables first")
