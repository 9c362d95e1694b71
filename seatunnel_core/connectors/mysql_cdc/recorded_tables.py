"""Record of the captured tables, stored in the cursor of the source."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.databases.mysql_session import reads_zero_as_null
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.reading import Found, narrowed
from seatunnel_core.connectors.mysql_cdc.definitions import logged_columns
from seatunnel_core.connectors.mysql_log.declared import kind_of

_WITH_ZERO = frozenset({"date", "datetime", "timestamp"})
"""Types with the value 0000-00-00."""


def recorded(tables: Sequence[Found], rules: ColumnRules = EVERY_COLUMN, *, logs_names: bool = False) -> bytes:
    """Return a record of the names, columns, keys, split columns and options of tables.

    Args:
        tables: The tables.
        rules: Masks of the columns, and filters of the rows.
        logs_names: True if the log contains column names. Otherwise unselected columns are also recorded.
    """
    found = {each.reading.name: _record(each, rules, logs_names=logs_names) for each in tables}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def same_tables(
    record: bytes, tables: Sequence[Found], rules: ColumnRules = EVERY_COLUMN, *, logs_names: bool = False
) -> list[Found]:
    """Return the tables that are in a record, without tables that were added later.

    Raises:
        SourceChangedError: A table was removed, or has other columns, another key or another split column.
    """
    found = known_tables(record, tables, rules, logs_names=logs_names)
    for name, columns in changed_columns(record, found).items():
        raise SourceChangedError(
            f"columns of {name} have changed since the job started: {', '.join(columns)}; start a new job"
        )
    return found


def known_tables(
    record: bytes,
    tables: Sequence[Found],
    rules: ColumnRules = EVERY_COLUMN,
    *,
    logs_names: bool = False,
    is_copying: bool = True,
) -> list[Found]:
    """Return the recorded tables in the order of the record, with their current columns.

    Args:
        record: The record.
        tables: The current tables.
        rules: Masks of the columns, and filters of the rows.
        logs_names: True if the log contains column names.
        is_copying: True during the snapshot, when the split columns must not change.

    Raises:
        SourceChangedError: A table was removed, or has another key, another split column, other masks, or other options
            that affect its values.
    """
    known = {each.reading.name: each for each in tables}
    found = []
    for name, then in stored.parse(record).items():
        table = known.get(name)
        if table is None:
            raise SourceChangedError(
                f"the table {name} is no longer captured: it was dropped, or the options changed; start a new job"
            )
        now = _record(table, rules, logs_names=logs_names)
        _require_same_options(table, then, rules)
        is_same = now["columns"] == then["columns"]
        if is_same and "all" in now and now["all"] != then.get("all"):
            raise SourceChangedError(
                f"columns of {name} that are not selected may have changed since the job started, and the log does not "
                "contain the names of columns; run SET GLOBAL binlog_row_metadata = 'FULL' on the server, or start a "
                "new job"
            )
        for part, what in (("key", "key"), ("split", "split column (or its sort order)")):
            if now[part] != then[part] and (part == "key" or is_copying):
                raise SourceChangedError(
                    f"the {what} of {name} has changed since the job started, from {_shown(then[part])} to "
                    f"{_shown(now[part])}; restore the table and the options, or start a new job"
                )
        found.append(table)
    return found


def changed_columns(record: bytes, tables: Sequence[Found]) -> dict[str, list[str]]:
    """Return the names of changed columns by table. Unchanged tables are omitted."""
    found, recorded_ones = {}, stored.parse(record)
    for table in tables:
        now, then = _columns(table), recorded_ones[table.reading.name]["columns"]
        changed = [column[0] for column in (*now, *then) if column not in now or column not in then]
        if now != then:
            found[table.reading.name] = [*dict.fromkeys(changed)] or ["their order"]
    return found


def with_recorded_columns(record: bytes, table: Found) -> Found:
    """Return a table with its recorded columns, for reading changes from the log only."""
    columns = [column_of(*each) for each in stored.parse(record)[table.reading.name]["columns"]]
    if _narrows(table):
        columns = [narrowed(column) for column in columns]
    former = None if table.table is None else evolve(table.table, columns=tuple(columns))
    return evolve(table, columns=tuple(columns), table=former)


def captured_ones(record: bytes, tables: Sequence[Found]) -> list[Found]:
    """Return the tables that a record contains."""
    names = stored.parse(record)
    return [each for each in tables if each.reading.name in names]


def named_tables(names: Sequence[str], tables: Sequence[Found]) -> list[Found]:
    """Return the tables with the given names, in the order of the names.

    Raises:
        SourceError: A table is not among them.
    """
    known = {each.reading.name: each for each in tables}
    if unknown := [name for name in names if name not in known]:
        raise SourceError(
            f"the table {unknown[0]!r} is no longer captured; restore it in the options, or start a new job"
        )
    return [known[name] for name in names]


def _record(table: Found, rules: ColumnRules, *, logs_names: bool) -> dict[str, Any]:
    split, columns = table.split_column, logged_columns(table)
    every = [[column.name, column.declared] for column in columns] if len(columns) > len(table.columns) else []
    return {
        "columns": _columns(table),
        **({"all": every} if every and not logs_names else {}),
        **({"rules": written} if (written := rules.recorded(table)) else {}),
        **_options(table),
        "key": [*table.schema().primary_key],
        "split": None if split is None else [split.name, split.order],
    }


def _require_same_options(table: Found, then: Mapping[str, Any], rules: ColumnRules) -> None:
    """Raise SourceChangedError if a table's filter, masks or options that affect its values differ from the record."""
    name = table.reading.name
    if not _has_rules(table, then, rules):
        raise SourceChangedError(
            f"the masks or the filter of {name} have changed since the job started; restore them, or start a new job"
        )
    if "zone" in then and then["zone"] != _zone(table):
        raise SourceChangedError(
            f"the option 'server-time-zone' has changed since the job started, from {then['zone']} to "
            f"{_zone(table)}: TIMESTAMP values of {name} would differ from earlier ones, and rows could be lost; "
            "restore the option, or start a new job"
        )
    if "narrowing" in then and then["narrowing"] != _narrows(table):
        raise SourceChangedError(
            f"the option 'int_type_narrowing' has changed since the job started, to {str(_narrows(table)).lower()}: "
            f"tinyint(1) columns of {name} would have another type than in earlier rows; restore the option, or start "
            "a new job"
        )
    if then.get("zero_is_null") and not _zero_is_null(table):  # before the opposite change, zero dates were errors
        raise SourceChangedError(
            "the property zeroDateTimeBehavior has changed since the job started, from CONVERT_TO_NULL to EXCEPTION: "
            f"dates 0000-00-00 of {name} would be errors, but are null in earlier rows; restore the property, or "
            "start a new job"
        )


def _has_rules(table: Found, then: Mapping[str, Any], rules: ColumnRules) -> bool:
    """Return True if the filter and the masks of a table match the record."""
    if "rules" in then:
        return bool(then["rules"] == rules.recorded(table))
    # An earlier version recorded the mask of each column. Only columns that exist then and now are comparable.
    masks, now = then.get("masks", {}), rules.recorded_by_column(table)
    both = {"", *(column[0] for column in then["columns"])} & {"", *(column.name for column in table.columns)}
    return all(masks.get(name) == now.get(name) for name in both)


def with_options(record: bytes, tables: Sequence[Found]) -> bytes:
    """Return a record with the current options of its tables, which a restore has accepted.

    They may differ from the recorded ones, or be missing because an earlier version stored the record.
    """
    found = stored.parse(record)
    found |= {each.reading.name: {**found[each.reading.name], **_options(each)} for each in tables}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _options(table: Found) -> dict[str, Any]:
    """Return the options that affect values of a table."""
    kinds = {kind_of(each.declared) for each in table.columns}
    return {
        **({"zone": _zone(table)} if "timestamp" in kinds else {}),
        **({"narrowing": _narrows(table)} if any(each.declared == "tinyint(1)" for each in table.columns) else {}),
        **({"zero_is_null": _zero_is_null(table)} if kinds & _WITH_ZERO else {}),
    }


def _narrows(table: Found) -> bool:
    """Return True if TINYINT(1) columns of a table are read as booleans."""
    return bool(table.reading.options[jdbc.INT_NARROWING])


def _zero_is_null(table: Found) -> bool:
    """Return True if the date 0000-00-00 is read as null."""
    return reads_zero_as_null(table.reading.dialect.address)


def _zone(table: Found) -> str:
    """Return the time zone in which TIMESTAMP values of a table are read."""
    return dict(table.reading.dialect.address.properties).get("serverTimezone", "UTC")


def _columns(table: Found) -> list[list[str]]:
    return [[column.name, column.declared, column.collation] for column in table.columns]


def _shown(part: Sequence[str] | None) -> str:
    return " ".join(part or ()) or "none"
