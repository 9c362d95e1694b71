"""Whether each row is in the target once, by DuckDB, which none of the two systems is."""

from pathlib import Path

import duckdb
from attrs import frozen


@frozen(kw_only=True)
class Judgement:
    """What is wrong with the rows of a target."""

    lost: int
    doubled: int
    other: int
    """Rows that should not be there at all, such as those of yesterday in a table that was replaced."""

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.other)


def judge(expected: str, found: str, attached: Path | None = None) -> Judgement:
    """Compare the rows of two queries, however often each comes. ``attached`` is the database ``target`` meanwhile."""
    rows = f"SELECT *, 1 AS wanted, 0 AS there FROM ({expected})"
    if found:
        rows += f" UNION ALL SELECT *, 0, 1 FROM ({found})"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if attached is not None:
            connection.execute(f"ATTACH '{attached}' AS target (READ_ONLY)")
        answer = connection.execute(f"""
            SELECT coalesce(sum(greatest(wanted - there, 0)), 0),
                   coalesce(sum(CASE WHEN wanted > 0 THEN greatest(there - wanted, 0) END), 0),
                   coalesce(sum(CASE WHEN wanted = 0 THEN there END), 0)
            FROM (SELECT * EXCLUDE (wanted, there), sum(wanted) AS wanted, sum(there) AS there
                  FROM ({rows}) GROUP BY ALL)
        """).fetchone()
    assert answer is not None
    lost, doubled, other = map(int, answer)
    return Judgement(lost=lost, doubled=doubled, other=other)
