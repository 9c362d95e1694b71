"""What clients ask a cluster to do: jobs of several pipelines, and what of them lies in their sinks."""

import contextlib
import random
from pathlib import Path

from attrs import frozen

from tests.runtime.command import fake_source, file_sink, ids, job
from tests.server.nemesis.database import Database

FILES = ("parquet", "json", "csv")
JDBC = "jdbc"
STREAMING = 0.5
"""The share of jobs without an end of their own, among those that are stopped."""


@frozen(kw_only=True)
class Target:
    """One sink of a job, and the rows 1 to ``rows`` that belong into it."""

    kind: str
    """A format of files, or ``jdbc``."""

    source: int
    rows: int
    place: str
    """The folder or the table."""

    def found(self, database: Database | None) -> list[int]:
        """Return the ids of the rows that lie in it, sorted."""
        if self.kind == JDBC:
            assert database is not None
            return database.ids(self.place)
        with contextlib.suppress(FileNotFoundError):
            return ids(Path(self.place))
        return []

    def sink(self, database: Database | None) -> str:
        """Return its block of the job."""
        if self.kind != JDBC:
            return file_sink(f"s{self.source}", Path(self.place), self.kind)
        assert database is not None
        keys = ", ".join(f'{key} = "{value}"' for key, value in database.options().items())
        more = f'generate_sink_sql = true, table = "{self.place}", is_exactly_once = true'
        return f"\n  Jdbc {{ plugin_input = s{self.source}, {keys}, {more} }}"


@frozen(kw_only=True)
class Work:
    """A job, and what its client does with it."""

    job_id: str
    targets: tuple[Target, ...]
    rows_per_second: int
    fate: str
    """``run``, ``cancel`` or ``savepoint``: what it is told once it has begun."""

    resumed: bool
    """Whether it is submitted again from its last checkpoint when it was stopped or has failed."""

    streaming: bool = False
    """Whether it has no end of its own: it is stopped for good once all rows are there."""

    patient: bool
    """Whether the client repeats a submit that was not acknowledged."""

    own_host: bool = False

    def text(self, database: Database | None) -> str:
        """Return the job as HOCON."""
        env = f"job.mode = {'STREAMING' if self.streaming else 'BATCH'}, checkpoint.interval = 200"
        env += f", read_limit.rows_per_second = {self.rows_per_second}, job.retry.times = 1000"
        if self.own_host:
            env += ", isolation = process"
        rows = {target.source: target.rows for target in self.targets}
        sources = [fake_source(f"s{number}", rows=count, splits=max(1, count // 5)) for number, count in rows.items()]
        return job(env, sources, [target.sink(database) for target in self.targets])

    def is_complete(self, database: Database | None) -> bool:
        """Return whether all rows are there, as far as can be seen while things are broken."""
        with contextlib.suppress(Exception):  # of the database, which may be down; in the end each sink is judged
            return all(len(target.found(database)) >= target.rows for target in self.targets)
        return False


def draw_work(draw: random.Random, job_id: str, folder: Path, database: Database | None) -> Work:
    """Return a job that is drawn: one to three sinks of one or two sources, of 3 to 30 seconds, or of
    120 that it is not to have; or one that has no end of its own."""
    kinds = FILES if database is None else (*FILES, JDBC, JDBC, JDBC)
    sources = draw.choice((1, 1, 2))
    fate = draw.choices(("run", "cancel", "savepoint"), (5, 3, 3))[0]
    rate = draw.choice((20, 40, 80))
    resumed = fate != "run" and draw.random() < 0.7
    streaming = fate != "run" and draw.random() < STREAMING
    seconds = draw.choice((3, 8, 15, 30)) if fate == "run" else 20 if resumed or streaming else 120
    rows = [max(5, rate * seconds // sources) for _ in range(sources)]
    targets = []
    for number in range(draw.choice((sources, sources, 3))):
        source, kind = number % sources, draw.choice(kinds)
        place = f"t{job_id}_{number}" if kind == JDBC else str(folder / f"{job_id}-{number}")
        targets.append(Target(kind=kind, source=source, rows=rows[source], place=place))
    return Work(
        job_id=job_id,
        targets=tuple(targets),
        rows_per_second=rate,
        fate=fate,
        resumed=resumed,
        streaming=streaming,
        patient=draw.random() < 0.8 or streaming,  # nobody would stop it
        own_host=draw.random() < 0.05,
    )
