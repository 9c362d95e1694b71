"""A storm of writers on PostgreSQL, and an empty target."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cdc.captured import COPY, CapturedPostgres
from tests.cdc.storm import Storm


@contextmanager
def postgres_storm(database: str, *, rows: int, per_second: int) -> Iterator[Storm]:
    """Create the tables of a storm; end it and release the database's slots afterwards."""
    captured = CapturedPostgres()
    captured.release(database)
    made = Storm(captured=captured, database=database, rows=rows, per_second=per_second)
    made.make_tables()
    captured.recreate(COPY)
    yield made
    made.over.set()
    captured.release(database)
