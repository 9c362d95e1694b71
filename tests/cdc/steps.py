"""The steps at which a job is killed, by name: those of the source in tasks and driver, and those of publication."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from tests.cdc.captured import Captured

_UNIT, _IO = "seatunnel_core.spark.unit_run:UnitRun", "seatunnel_core.runtime.source_io:SourceIO"
_STORAGE = "seatunnel_storage_api.storage:CheckpointStorage"
_JDBC = "seatunnel_core.connectors.jdbc"

CHUNK, LOG = "chunk", "log"
"""What the body of a split contains, by which splits of chunks and of the log are told apart."""


@frozen(kw_only=True)
class Step:
    """One place in the code, and who is killed there."""

    name: str
    phase: str
    """Under which its kills are counted."""

    at: str
    """Module and name of the function."""

    side: str = "before"
    """``before``, ``after``, or ``within``: with each item that it yields."""

    pattern: str = ""
    """Regular expression; the step is where the text of the arguments matches."""

    nth: int = 1
    victim: str = "driver"
    """``driver``, ``worker`` (the process that is at the step), or ``session``: all processes of the job."""

    def order(self, told: Path) -> dict[str, Any]:
        """Return what ``killing/sitecustomize.py`` reads."""
        return {
            "at": self.at,
            "side": self.side,
            "pattern": self.pattern,
            "nth": self.nth,
            "victim": self.victim,
            "told": str(told),
        }

    def by(self, victim: str, nth: int) -> "Step":
        return evolve(self, victim=victim, nth=nth)

    def __str__(self) -> str:
        return f"{self.name} ({self.nth}) [{self.victim}]"


def snapshot_steps(captured: Captured) -> Sequence[Step]:
    """Return those that are reached during the snapshot."""
    chunk = rf"['\"]{CHUNK}['\"]"
    return (
        Step(name="chunk begun", phase="in a chunk", at=f"{_UNIT}.read_split", pattern=chunk),
        Step(name="rows of a chunk read", phase="in a chunk", at=f"{_UNIT}.read_split", side="within", pattern=chunk),
        Step(name="chunk read, not staged", phase="in a chunk", at=f"{_UNIT}.read_split", side="after", pattern=chunk),
        Step(name="mark taken", phase="in a chunk", at=f"{_UNIT}.report_fact"),
    )


def log_steps(captured: Captured) -> Sequence[Step]:
    """Return those that are reached for as long as there is a log."""
    log = rf"['\"]{LOG}['\"]"
    return (
        Step(name="range begun", phase="in a range", at=f"{_UNIT}.read_split", pattern=log),
        Step(name="rows of a range read", phase="in a range", at=f"{_UNIT}.read_split", side="within", pattern=log),
        Step(name="range read, not staged", phase="in a range", at=f"{_UNIT}.read_split", side="after", pattern=log),
    )


def publication_steps() -> Sequence[Step]:
    """Return those between a staged unit and its end: any two of them have a kill between."""
    return (
        Step(name="unit staged, not reported", phase="staging", at=f"{_JDBC}.writer:JdbcWriter.finish", side="after"),
        Step(name="checkpoint not stored", phase="store", at=f"{_STORAGE}.store_checkpoint"),
        Step(name="checkpoint stored", phase="store", at=f"{_STORAGE}.store_checkpoint", side="after"),
        Step(name="commit begins", phase="commit", at=f"{_JDBC}.sink:JdbcSink.commit"),
        Step(name="a table moved", phase="commit", at=f"{_JDBC}.publishing:Publishing._move", side="after"),
        Step(
            name="a unit recorded",
            phase="commit",
            at="seatunnel_core.connectors.tables.ledger:CommitLedger.record",
            side="after",
        ),
        Step(name="committed, not noticed", phase="commit", at=f"{_JDBC}.sink:JdbcSink.commit", side="after"),
        Step(name="before the sweep", phase="sweep", at=f"{_JDBC}.sink:JdbcSink.sweep"),
        Step(name="polled, not planned", phase="poll", at=f"{_IO}.poll", side="after"),
        Step(name="about to poll", phase="poll", at=f"{_IO}.poll"),
    )
