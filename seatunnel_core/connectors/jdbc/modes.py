"""Write mode of the ``Jdbc`` sink, and SeaTunnel's older options, which determine parts of it.

===================  ===================================================================================
``write_mode``       meaning in terms of the older options
===================  ===================================================================================
not set              ``enable_upsert`` applies; the key is ``primary_keys``, or else the key of the rows
``append``           rows are inserted; ``primary_keys`` requires ``enable_upsert = false``
``replace``          rows are staged, and replace the old rows in one transaction at the end
``prune``            keys are staged; rows with other keys are removed in one transaction at the end
``merge``            rows are staged, and upserted as with ``primary_keys`` and ``is_exactly_once = true``
===================  ===================================================================================
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.windows import require_windows
from seatunnel_core.connectors.jdbc.staging import task_of
from seatunnel_core.connectors.jdbc.target import Target
from seatunnel_core.connectors.tables.kept_values import KeptValues
from seatunnel_core.connectors.tables.messages import repeated_by_query
from seatunnel_core.connectors.tables.target import require_one_key
from seatunnel_core.connectors.tables.whole_rows import require_matchable
from seatunnel_core.connectors.write_mode import DECIDING, WriteMode, write_mode_of


def mode_of(options: Options) -> WriteMode | None:
    """Return the write mode of a sink, or ``None`` if it is not set; raise ``UsageError`` if options contradict it."""
    if not any(options[option] for option in DECIDING):
        return None
    mode, keys = write_mode_of(options), tuple(options[opt.PRIMARY_KEYS] or ())
    if options[opt.SINK_QUERY]:
        raise _contradiction(
            "query", f"the statement already determines how rows are written, but write_mode is {mode.name}"
        )
    if not options[opt.TABLE]:
        raise UsageError("option 'table': required with write_mode; set it to a table name or to ${table_name}")
    if mode.name == "append":
        if keys and options[opt.UPSERT]:
            raise _contradiction(
                "primary_keys",
                "with primary_keys, a row replaces the existing row with the same key, but write_mode = append only "
                "adds rows; set enable_upsert = false to get an error for an existing key, or write_mode = merge",
            )
        return mode
    if options.is_set(opt.EXACTLY_ONCE) and not options[opt.EXACTLY_ONCE]:
        raise _contradiction(
            "is_exactly_once", f"is_exactly_once = false writes rows directly, but write_mode = {mode.name} stages them"
        )
    if mode.prunes and keys:
        raise _contradiction("primary_keys", "with write_mode = prune, all columns of the rows are key columns")
    if not mode.merges:
        return mode
    if not options[opt.UPSERT]:
        raise _contradiction(
            "enable_upsert",
            "enable_upsert = false rejects rows with an existing key, but write_mode = merge replaces them",
        )
    if keys and mode.key and set(keys) != set(mode.key):
        raise _contradiction(
            "primary_keys", f"primary_keys contains {', '.join(keys)}, but merge_key contains {', '.join(mode.key)}"
        )
    if keys and mode.whole_rows:
        raise _contradiction("primary_keys", "match_whole_rows is for rows without a key", "match_whole_rows")
    return evolve(mode, key=mode.key or keys)


def _contradiction(key: str, why: str, other: str = "write_mode") -> UsageError:
    return UsageError(f"option {key!r}: {why}; remove {key} or {other}")


def refuse_partial(target: Target, table: DatabaseTable) -> None:
    """Raise ``SinkError`` if a merge would lose the table's values in a column that the rows lack.

    This happens if there is no unique index, because rows are then replaced with DELETE and INSERT.
    """
    lost = [each.name for each in table.columns if each.name not in target.names and not each.generated]
    if lost and not target.unique:
        raise SinkError(
            f"the table {target.named} has no unique index on ({', '.join(target.keys)}), so a merge would reset the "
            f"column {lost[0]!r}, which the rows lack; create such an index"
        )


def refuse_other_key(targets: Mapping[str, Target], table: str, target: Target, *, merges: bool) -> None:
    """Raise ``SinkError`` if the rows of ``table`` and of another table replace rows of one target by different keys.

    Without a merge, the other table may have no key, and its rows are only inserted.
    """
    others = [other.keys for of, other in targets.items() if of != table and other.path == target.path]
    require_one_key(target.named, target.keys, [keys for keys in others if merges or (keys and target.keys)])


def refuse_unmatchable(dialect: Dialect, target: Target, table: DatabaseTable, schema: TableSchema) -> None:
    """Raise ``SinkError`` if a table or its server does not support matching rows by all columns."""
    require_windows(dialect.address, "match_whole_rows requires MySQL 8")
    keys = [*([table.primary_key] if table.primary_key else []), *table.unique_keys]
    require_matchable(target.named, schema, table.columns, target.names, keys)


def moved_together(parts: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """Group the staging tables of a unit: those of one task and target whose rows have a key, or else single ones."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for part in parts:
        which = (task_of(part["staging"]), *part["target"]) if part["keys"] else part["staging"]
        found.setdefault(which, []).append(part)
    return found.values()


def kept_values(
    dialect: Dialect, connection: Any, who: str, target: Target, table: DatabaseTable | None, history: Sequence[str]
) -> KeptValues:
    """Return the check for columns of a target that the rows lack; without a table, nothing is checked."""
    return KeptValues(
        database=dialect,
        connection=connection,
        who=who,
        named=target.named,
        table=dialect.quoted(*target.path),
        columns=() if table is None else table.columns,
        written=(*target.names, *history),
    )


def refuse_clash(dialect: Dialect, connection: Any, who: str, parts: Sequence[Mapping[str, Any]]) -> None:
    """Raise ``CommitError`` if a key occurs in the rows of several tasks of a unit, because tasks are unordered."""
    targets: dict[tuple[str, ...], dict[str, list[str]]] = {}
    by: dict[tuple[str, ...], Sequence[str]] = {}
    for part in (part for part in parts if part["keys"]):
        path = tuple(part["target"])
        by.setdefault(path, part["keys"])
        keys = ", ".join(map(dialect.quoted, by[path]))
        select = f"SELECT {keys} FROM {dialect.quoted(part['staging'])}"
        targets.setdefault(path, {}).setdefault(task_of(part["staging"]), []).append(select)
    for path, tasks in targets.items():
        if len(tasks) > 1:
            keys = ", ".join(map(dialect.quoted, by[path]))
            some = (f"({' UNION ALL '.join(selects)}) AS seatunnel_task" for selects in tasks.values())
            each = (f"SELECT DISTINCT {keys} FROM {rows}" for rows in some)
            every = f"({' UNION ALL '.join(each)}) AS seatunnel_keys"
            asked = f"SELECT {keys} FROM {every} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"
            for key in dialect.ask(connection, asked):
                raise CommitError(f"{who}: {repeated_by_query(by[path], key, '.'.join(path))}")
