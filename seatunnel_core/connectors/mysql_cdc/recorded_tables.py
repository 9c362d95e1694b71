"""Record of the captured tables at the start of the job, in the cursor of the source."""

import json
from collections.abc import Sequence
from typing import Any

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.definitions import logged_columns


def recorded(tables: Sequence[Found], rules: ColumnRules = EVERY_COLUMN, *, logs_names: bool = False) -> bytes:
    """Return the names, columns, keys and split columns of tables.

    Args:
        tables: The tables.
        rules: Masks of the columns, and filters of the rows.
        logs_names: True if the log contains the names of columns. Otherwise the positions of all columns count.
    """
    found = {each.reading.name: _record(each, rules, logs_names=logs_names) for each in tables}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def same_tables(
    record: bytes, tables: Sequence[Found], rules: ColumnRules = EVERY_COLUMN, *, logs_names: bool = False
) -> list[Found]:
    """Return the tables that were captured when the job started, without later ones.

    Raises:
        SourceChangedError: A table was removed, or has other columns, another key or another split column.
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
        if now["columns"] != then["columns"]:
            both = (*now["columns"], *then["columns"])
            changed = [column[0] for column in both if column not in now["columns"] or column not in then["columns"]]
            raise SourceChangedError(
                f"columns of {name} have changed since the job started: {', '.join(dict.fromkeys(changed))}; start a "
                "new job"
            )
        if now.get("masks") != then.get("masks"):
            raise SourceChangedError(
                f"the masks or the filter of {name} have changed since the job started; restore them, or start a new "
                "job"
            )
        if "all" in now and now["all"] != then.get("all"):
            raise SourceChangedError(
                f"columns of {name} that are not selected may have changed since the job started, and the log does not "
                "contain the names of columns; run SET GLOBAL binlog_row_metadata = 'FULL' on the server, or start a "
                "new job"
            )
        for part, what in (("key", "key"), ("split", "column by which it is divided, or its order,")):
            if now[part] != then[part]:
                raise SourceChangedError(
                    f"the {what} of {name} has changed since the job started, from {_shown(then[part])} to "
                    f"{_shown(now[part])}; restore the table and the options, or start a new job"
                )
        found.append(table)
    return found


def later_tables(captured: Sequence[Found], tables: Sequence[Found]) -> str | None:
    """Return a warning about uncaptured tables that match the options; ``None`` if there are none."""
    names = {each.reading.name for each in captured}
    later = [each.reading.name for each in tables if each.reading.name not in names]
    if not later:
        return None
    return (
        f"the job does not capture {', '.join(later)}, because it started without them; start a new job to capture them"
    )


def _record(table: Found, rules: ColumnRules, *, logs_names: bool) -> dict[str, Any]:
    split, columns = table.split_column, logged_columns(table)
    every = [[column.name, column.declared] for column in columns] if len(columns) > len(table.columns) else []
    return {
        "columns": [[column.name, column.declared, column.collation] for column in table.columns],
        **({"all": every} if every and not logs_names else {}),
        **({"masks": masks} if (masks := rules.recorded(table)) else {}),
        "key": [*table.schema().primary_key],
        "split": None if split is None else [split.name, split.order],
    }


def _shown(part: Sequence[str] | None) -> str:
    return "none" if part is None else " ".join(part)
