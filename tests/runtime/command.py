"""The ``seatunnel`` command in processes of its own, for tests that look at a whole job from outside."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from attrs import frozen

from tests.live_folder import files_below
from tests.torture.process import STOPS, Engine

_ENGINE = """seatunnel:
  engine:
    checkpoint:
      tolerable-failure: {tolerated}
      storage:
        type: hdfs
        max-retained: 3
        plugin-config:
{storage}
"""


@frozen(kw_only=True)
class Command:
    """One job file and the place of its checkpoints, logs and output, for as many processes as it takes."""

    folder: Path
    job_id: str = "job-1"

    @classmethod
    def of(cls, folder: Path, job: str, *, tolerated: int = 0, storage: Mapping[str, str] | None = None) -> "Command":
        """
        Args:
            job: the text of the job file.
            tolerated: how many checkpoints may fail in a row.
            storage: the ``plugin-config`` of the checkpoint storage; without it a folder beside the job.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.conf").write_text(job, "utf-8")
        local = {"storage.type": "hdfs", "fs.defaultFS": "file:///", "namespace": f"{folder}/state/"}
        lines = (f"          {key}: {json.dumps(value)}" for key, value in (storage or local).items())
        engine = _ENGINE.format(tolerated=tolerated, storage="\n".join(lines))
        (folder / "seatunnel.yaml").write_text(engine, "utf-8")
        return cls(folder=folder)

    def begin(self, *more: str, stop: Sequence[Any] | None = None, script: Path = STOPS) -> Engine:
        """The job's first process."""
        return self.start("--set-job-id", self.job_id, *more, stop=stop, script=script)

    def resume(self, *more: str, stop: Sequence[Any] | None = None) -> Engine:
        return self.start("-r", self.job_id, *more, stop=stop)

    def start(self, *arguments: str, stop: Sequence[Any] | None = None, script: Path = STOPS) -> Engine:
        files = ["-c", str(self.folder / "job.conf"), "--engine-config", str(self.folder / "seatunnel.yaml")]
        number = len(list(self.folder.glob("output-*.log")))
        return Engine(
            [*files, *arguments],
            log=self.folder / f"output-{number}.log",
            environment={
                "HOME": str(self.folder / "home"),
                "SPARK_LOCAL_DIRS": str(self.folder / "spark"),
                "XDG_STATE_HOME": "",
                "XDG_CACHE_HOME": "",
            },
            stop=stop,
            script=script,
        )

    def checkpoints(self) -> set[str]:
        """The names of the checkpoints that are stored now, restore points and final ones left out."""
        return {path.name for path in self.folder.glob(f"state/{self.job_id}/0*/*.checkpoint.*.ckpt")}


def engine_file(folder: Path, *, more: str = "") -> Path:
    """The engine's file for jobs of this process: checkpoints go into the same folder. ``more`` is a line of it."""
    file = folder / "seatunnel.yaml"
    file.write_text(
        f"seatunnel:\n  engine:\n    {more}\n    checkpoint:\n      storage:\n        type: hdfs\n"
        f"        plugin-config:\n          namespace: {folder}/checkpoints/\n"
    )
    return file


def published(folder: Path) -> list[Path]:
    """The files of a target."""
    return [path for path in files_below(folder) if ".seatunnel" not in path.parts]


def staged(folder: Path) -> list[Path]:
    """The files that lie in staging, of any target below the folder."""
    return [path for path in files_below(folder) if ".seatunnel" in path.parts]


def column(folder: Path, name: str) -> list[Any]:
    """All values of a column of the Parquet files in a target, sorted."""
    tables = [pa.parquet.ParquetFile(path).read(columns=[name]) for path in published(folder)]
    return sorted(value for table in tables for value in table.column(name).to_pylist())


def ids(folder: Path) -> list[int]:
    """All values of the column ``id``, sorted, of a target whose files are Parquet, CSV without a header, or JSON. What
    Spark writes beside rows, and before it publishes them, is left out."""
    found: list[int] = []
    for path in published(folder):
        if any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
            continue
        if path.suffix == ".parquet":
            found += pa.parquet.ParquetFile(path).read(columns=["id"]).column("id").to_pylist()
        elif path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                found += [int(row[0]) for row in csv.reader(file)]
        else:
            found += [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    return sorted(found)


def fake_source(name: str, *, rows: int, splits: int = 1, pause_ms: str = "1", more: str = "") -> str:
    """A FakeSource whose column ``id`` counts its rows from 1 for each parallel reader."""
    return f"""
  FakeSource {{
    plugin_output = {name}
    parallelism = 1
    row.num = {rows}
    split.num = {splits}
    split.read-interval = {pause_ms}
    auto.increment.enabled = true
    schema {{ fields {{ id = bigint, text = string }} }}
    {more}
  }}"""


def file_sink(source: str, folder: Path, format: str, *, more: str = "") -> str:
    return f"""
  LocalFile {{ plugin_input = [{source}], path = "{folder}", file_format_type = {format}, {more} }}"""


def parquet_sink(source: str, folder: Path, *, more: str = "") -> str:
    return file_sink(source, folder, "parquet", more=more)


def job(env: str, sources: Sequence[str], sinks: Sequence[str]) -> str:
    return f"env {{ {env} }}\nsource {{{''.join(sources)}\n}}\nsink {{{''.join(sinks)}\n}}\n"
