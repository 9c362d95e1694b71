"""A job that copies a few tables, for tests that change them by single statements."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.cdc.captured import COPY, Captured
from tests.cdc.comparison import difference
from tests.cdc.job import CopyJob
from tests.cdc.storm import wait_until
from tests.torture.process import Engine

PATIENCE_S = 120.0


@define
class SmallJob:
    """One job; its source is the database ``small``."""

    captured: Captured
    folder: Path
    tables: tuple[str, ...]
    source_options: str = ""
    sink_options: str = ""
    job: CopyJob = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.job = CopyJob(
            folder=self.folder,
            captured=self.captured,
            database="small",
            tables=self.tables,
            slot="small",
            source_options=self.source_options,
            sink_options=self.sink_options,
        )
        self.job.write()

    def source(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.captured.run("small", *statements)

    def target(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.captured.run(COPY, *statements)

    def target_rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query of the target; none before its table exists."""
        try:
            return self.target(query)
        except Exception as error:
            if self.captured.code(error) in ("42P01", 1146):
                return []
            raise

    def begin(self) -> Engine:
        """Start or resume the job, and wait until its tables are equal."""
        engine = self.job.start()
        self.wait_until_equal(engine)
        return engine

    def equal(self) -> bool:
        return not any(difference(self.captured, "small", COPY, table) for table in self.tables)

    def wait_until_equal(self, engine: Engine) -> None:
        """Wait until source and target are equal.

        Raises:
            AssertionError: The job ended before.
        """
        self.wait(engine, self.equal, "source and target are equal")

    def wait(self, engine: Engine, condition: Any, what: str) -> None:
        """Wait for something that the job does."""
        wait_until(lambda: condition() or engine.exit_code is not None, PATIENCE_S, what)
        if not condition():
            raise AssertionError(f"not before the job ended: {what}\n{engine.output[-5000:]}")

    def command(self, *more: str, engine_config: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the job in the foreground, to its end, or a command that needs no job file."""
        files = [] if more[:1] in (("-s",), ("checkpoints",)) else self.job.arguments()
        files = [*files[:-1], str(engine_config)] if engine_config is not None else files
        command = [sys.executable, "-m", "seatunnel_core.cli.main", *files, *more]
        return subprocess.run(
            command, env=self.job.surroundings(), capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    @property
    def id(self) -> str:
        """Id of the job, once it has started."""
        printed = self.job.printed()
        assert printed is not None
        return printed[printed.index("-r") + 1]


@contextmanager
def small_job(
    captured: Captured,
    folder: Path,
    definitions: Sequence[str],
    *,
    source_options: str = "",
    sink_options: str = "",
) -> Iterator[SmallJob]:
    """Create tables by their definitions, and a job that copies them."""
    captured.release("small")
    captured.recreate("small")
    captured.recreate(COPY)
    captured.run("small", *definitions)
    tables = tuple(each.split()[2] for each in definitions if each.startswith("CREATE TABLE"))
    small = SmallJob(captured, folder, tables, source_options, sink_options)
    try:
        yield small
    finally:
        small.job.end()
        captured.release("small")
