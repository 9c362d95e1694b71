"""A source of numbers and a sink of text files, both with the accidents that the tests need.

They travel to the tasks by value, because the tests' folder is not a package that a worker could import.
"""

import errno
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from seatunnel_core.config.option import Options
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration, PlanningContext, ReadContext, Source
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target, build_chain
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit

NUMBERS = TableSchema(table="numbers", columns=pa.schema([("n", pa.int64()), ("word", pa.string())]))


class Numbers(Source):
    """Splits of consecutive numbers; a split's body may ask for an accident."""

    identifier = "Numbers"
    declared = ()

    def __init__(self, waits: bool | None = False) -> None:
        super().__init__(Options({}, ()))
        self.waits = waits

    def inspect(self, item: DiscoveredObject, planning: PlanningContext) -> DiscoveredObject:
        if item.get("accident") == "unreadable":
            raise PermissionError(errno.EACCES, "no", item["name"])
        return {**item, "pid": os.getpid(), "parallelism": planning.parallelism}

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        return Enumeration(schemas=(NUMBERS,), splits=())

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        body = split.body
        require_alone(body)
        note(body, "+")
        wait_for_others(body)
        accident(body)
        for start in range(body["start"], body["stop"], 10):
            if start == body.get("bad"):
                context.skip(RowError(f"numbers.csv, line {start}, column n: not a number"))
                continue
            numbers = range(start, min(start + 10, body["stop"]))
            rows = pa.record_batch([list(numbers), [f"w{n}" for n in numbers]], schema=NUMBERS.columns)
            yield Batch(table="numbers", rows=rows)
        note(body, "-")


def note(body: Any, sign: str) -> None:
    """Add a sign to the file that the split names: ``+`` where its reading begins, ``-`` where it ends."""
    if body.get("note"):
        with Path(body["note"]).open("a") as notes:
            notes.write(sign)


def wait_for_others(body: Any) -> None:
    """Wait until as many readings have begun as the split says; a minute at most, so that the test fails and ends."""
    for _ in range(6000 if body.get("together") else 0):
        if Path(body["note"]).read_text().count("+") >= body["together"]:
            break
        time.sleep(0.01)


def most_at_once(notes: Path) -> int:
    """How many readings had begun and not ended, at the most."""
    return max(accumulate(1 if sign == "+" else -1 for sign in notes.read_text()))


def require_alone(body: Any) -> None:
    """Fail when another process, which has begun with the split before, is still there."""
    if not body.get("alone"):
        return
    begun = Path(body["alone"])
    for line in begun.read_text().splitlines() if begun.exists() else []:
        if line != str(os.getpid()) and Path(f"/proc/{line}/stat").exists():
            raise RowError(f"process {line} reads the same beside this one")
    with begun.open("a") as pids:
        pids.write(f"{os.getpid()}\n")


def accident(body: Any) -> None:
    time.sleep(body.get("sleep_s", 0))
    while body.get("sleep_until") and not Path(body["sleep_until"]).exists():
        time.sleep(0.02)
    once = body.get("kill_once")
    if once is not None and not Path(once).exists():
        Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if body.get("kill_always"):
        with Path(body["kill_always"]).open("a") as deaths:
            deaths.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    deaths, times = body.get("kill_times", (None, 0))
    if deaths is not None and (not Path(deaths).exists() or Path(deaths).stat().st_size < times):
        with Path(deaths).open("a") as died:
            died.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    if body.get("raise"):
        raise RowError(body["raise"])


class Doubled(Transform):
    identifier = "Doubled"
    declared = ()

    def __init__(self) -> None:
        super().__init__(Options({}, ()))

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        yield batch
        yield batch


class Folder(Sink):
    """Stages one JSON-lines file per attempt."""

    identifier = "Folder"
    declared = ()

    def __init__(self, path: Path, full: bool = False) -> None:
        super().__init__(Options({}, ()))
        self.path = str(path)
        self.full = full

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        name = f"{context.pipeline_id}-{context.source_ordinal}-{context.epoch}-{context.unit}-{context.attempt}.jsonl"
        return FolderWriter(Path(self.path), name, self.full)

    def probe(self, context: SinkContext, token: str) -> None:
        (Path(self.path) / token).write_text(str(os.getpid()))

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        raise NotImplementedError


class AtOnce(Folder):
    """Its tasks write into the target itself."""

    guarantee = Guarantee.AT_LEAST_ONCE


class FolderWriter(SinkWriter):
    def __init__(self, folder: Path, name: str, full: bool) -> None:
        self.path = folder / name
        self.full = full
        self.rows: list[dict[str, Any]] = []

    def write(self, batch: Batch) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "no space left", str(self.path))
        self.rows += batch.rows.to_pylist()

    def finish(self) -> Staged:
        text = "".join(json.dumps(row) + "\n" for row in self.rows)
        self.path.write_text(text)
        return Staged(body={"files": [self.path.name]}, rows=len(self.rows), bytes=len(text))

    def abort(self) -> None:
        self.path.unlink(missing_ok=True)


def numbers_chain(folder: Path, pipeline_id: int = 1, *, steps: Sequence[Step] = (), **more: Any) -> OperatorChain:
    """The whole chain of one pipeline: numbers into a folder."""
    last = steps[-1].name if steps else "numbers"
    sink = (AtOnce if more.pop("at_once", False) else Folder)(folder, full=more.pop("full", False))
    return build_chain(
        job_id="job",
        pipeline_id=pipeline_id,
        source_name="numbers",
        source_ordinal=0,
        source=more.pop("source", None) or Numbers(more.pop("waits", False)),
        schemas=[NUMBERS],
        steps=steps,
        targets=more.pop("targets", None) or [Target(name="folder", ordinal=0, sink=sink, inputs=(last,))],
        **more,
    )


def numbers_unit(number: int, start: int = 0, stop: int = 20, *, weight_bytes: int = 100, **body: Any) -> WorkUnit:
    split = Split(
        index=number,
        weight_bytes=weight_bytes,
        rows=max(1, stop - start),
        body={"start": start, "stop": stop, **body},
    )
    return WorkUnit(number=number, splits=(split,))


def staged_numbers(folder: Path, committables: Sequence[Committable]) -> list[int]:
    """The numbers in the files that the committables name, sorted."""
    names = [name for committable in committables for name in committable.body["files"]]
    return sorted(json.loads(line)["n"] for name in names for line in (folder / name).read_text().splitlines())
