"""Source and target, row by row: both as the texts that the database itself gives for the values."""

from contextlib import closing

from tests.cdc.captured import Captured

_SHOWN = 3


def rows_of(captured: Captured, database: str, table: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the columns of a table and its rows as texts, sorted; no columns if there is no such table."""
    with closing(captured.connect(database)) as connection:
        names = captured.columns(connection, table)
        if not names:
            return [], []
        chosen = ", ".join(f"coalesce({captured.as_text(name)}, '<null>')" for name in names)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {chosen} FROM {captured.quoted(table)}")
            return names, sorted(cursor.fetchall())


def difference(captured: Captured, source: str, target: str, table: str) -> str:
    """Return what differs between two tables; empty if nothing does. Rows that occur twice count twice."""
    (names, there), (own_names, here) = rows_of(captured, source, table), rows_of(captured, target, table)
    if names != own_names:
        return f"{table}: columns {', '.join(own_names) or 'none'} instead of {', '.join(names)}"
    if there == here:
        return ""
    missing, extra = _without(there, here), _without(here, there)
    told = [f"  missing: {row}" for row in missing[:_SHOWN]] + [f"  too many: {row}" for row in extra[:_SHOWN]]
    counts = f"{table}: {len(there)} rows in the source, {len(here)} in the target"
    counts += f", {len(missing)} missing, {len(extra)} extra"
    return "\n".join([counts, *told])


def _without(rows: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    left = list(others)
    counts: dict[tuple[str, ...], int] = {}
    for row in left:
        counts[row] = counts.get(row, 0) + 1
    found = []
    for row in rows:
        if counts.get(row, 0):
            counts[row] -= 1
        else:
            found.append(row)
    return found
