"""The steps at which a job is killed, by name: those of the source in tasks and driver, and those of publication."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from tests.cdc.captured import Captured

_UNIT, _IO = "seatunnel_core.spark.unit_run:UnitRun", "seatunnel_core.runtime.source_io:SourceIO"
_STORAGE = "seatunnel_storage_api.blob:BlobStorage"
_JDBC = "seatunnel_core.connectors.jdbc"

CHUNK, LOG = "'chunk':", "'(from|log)':"
"""Keys in the body of a split of a chunk, and of a range of the log."""


@frozen(kw_only=True)
class Step:
    """A place in the code, and the process that is killed there."""

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
    correction = "seatunnel_core.connectors.mysql_cdc.correction:Correction"
    in_correction = (
        Step(name="correction begun", phase="in a correction", at=f"{correction}.add"),
        Step(name="correction read", phase="in a correction", at=f"{correction}.add", side="after"),
        Step(name="rows corrected", phase="in a correction", at=f"{correction}.changed", side="after"),
    )
    return (
        *(in_correction if captured.name.startswith("mysql") else ()),
        Step(name="chunk begun", phase="in a chunk", at=f"{_UNIT}.read_split", pattern=CHUNK),
        Step(name="rows of a chunk read", phase="in a chunk", at=f"{_UNIT}.read_split", side="within", pattern=CHUNK),
        Step(name="chunk read, not staged", phase="in a chunk", at=f"{_UNIT}.read_split", side="after", pattern=CHUNK),
        Step(name="mark taken", phase="in a chunk", at=f"{_UNIT}.report_fact"),
    )


def between_steps(captured: Captured) -> Sequence[Step]:
    """Return those between the chunks and the log."""
    planner = "seatunnel_core.connectors.mysql_cdc.planning:Planner._range_of_window"
    if captured.name == "postgres":
        planner = "seatunnel_core.connectors.postgres_cdc.planner:Planner._next_range"
    return (
        Step(name="all chunks read, no range", phase="between chunk and log", at=planner),
        Step(name="first range planned", phase="between chunk and log", at=planner, side="after"),
    )


def log_steps(captured: Captured) -> Sequence[Step]:
    """Return those that are reached for as long as there is a log."""
    source = "seatunnel_core.connectors.postgres_cdc.source:PostgresCdcSource"
    reader = "seatunnel_core.connectors.postgres_log.slot_reader:SlotReader"
    in_confirmation = (
        Step(name="rows published, not acknowledged", phase="in the confirmation", at=f"{source}.acknowledge"),
        Step(name="about to confirm", phase="in the confirmation", at=f"{reader}.confirm"),
        Step(name="confirmed", phase="in the confirmation", at=f"{reader}.confirm", side="after"),
    )
    return (
        *(in_confirmation if captured.name == "postgres" else ()),
        Step(name="range begun", phase="in a range", at=f"{_UNIT}.read_split", pattern=LOG),
        Step(name="rows of a range read", phase="in a range", at=f"{_UNIT}.read_split", side="within", pattern=LOG),
        Step(name="range read, not staged", phase="in a range", at=f"{_UNIT}.read_split", side="after", pattern=LOG),
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
