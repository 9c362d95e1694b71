"""The job that copies a database: its files, its processes, and the command that it prints to resume it."""

import json
import os
import re
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field

from seatunnel_core.spark.starting.archived_classes import FOLDER
from tests.cdc.captured import COPY, Captured
from tests.cdc.steps import Step
from tests.torture.process import ARCHIVES, Engine

KILLING = Path(__file__).with_name("killing")
ROOT = Path(__file__).parents[2]
_ENGINE = """seatunnel:
  engine:
    checkpoint:
      tolerable-failure: 3
      storage:
        type: hdfs
        max-retained: 3
        plugin-config:
          storage.type: hdfs
          fs.defaultFS: file:///
          namespace: {folder}/state/
"""
_RESUME = re.compile(r"resume it with:\s+\S+ (.+)")


@define(kw_only=True)
class CopyJob:
    """One job in a folder of its own."""

    folder: Path
    captured: Captured
    database: str
    """Source; the target is the database ``copy``."""

    tables: tuple[str, ...]
    slot: str
    source_options: str = ""
    sink_options: str = ""
    interval_ms: int = 300
    parallelism: int = 2
    target: str = COPY
    environment: Mapping[str, str] = field(factory=dict)
    """More of it, for all processes."""

    engines: list[Engine] = field(init=False, factory=list)
    kills: int = field(init=False, default=0)

    def write(self) -> None:
        """Write the job's files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source = self.captured.source_block(self.database, self.tables, self.slot, self.source_options)
        env = f"job.name = copy, job.mode = STREAMING, parallelism = {self.parallelism}"
        env += f", checkpoint.interval = {self.interval_ms}, job.retry.interval.seconds = 1"
        sink = self.captured.sink_block(self.target, self.sink_options)
        job = f"env {{ {env} }}\nsource {{{source}\n}}\nsink {{{sink}\n}}\n"
        (self.folder / "job.conf").write_text(job, "utf-8")
        (self.folder / "seatunnel.yaml").write_text(_ENGINE.format(folder=self.folder), "utf-8")

    def arguments(self) -> list[str]:
        """Return what the user types at first."""
        return ["-c", str(self.folder / "job.conf"), "--engine-config", str(self.folder / "seatunnel.yaml")]

    def surroundings(self) -> dict[str, str]:
        """Return the environment of the job's processes, which have homes of their own."""
        path = [str(KILLING), str(ROOT), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ,
            "HOME": str(self.folder / "home"),
            "XDG_STATE_HOME": "",
            "XDG_CACHE_HOME": "",
            "XDG_RUNTIME_DIR": str(self.folder),
            "TMPDIR": str(self.folder),
            "SPARK_LOCAL_DIRS": str(self.folder),
            FOLDER: ARCHIVES,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            **self.environment,
        }

    def start(self, step: Step | None = None) -> Engine:
        """Start the job, or resume it with the command that its last process has printed."""
        arguments = self.printed() or self.arguments()
        environment = self.surroundings()
        if step is not None:
            environment["CDC_KILL"] = json.dumps(step.order(self.kill_file(len(self.engines))))
        log = self.folder / f"output-{len(self.engines)}.log"
        engine = Engine(arguments, log=log, environment=environment)
        self.engines.append(engine)
        return engine

    def kill_file(self, number: int) -> Path:
        """Return the file that a process writes to before it kills."""
        return self.folder / f"killed-{number}"

    def printed(self) -> list[str] | None:
        """Return the arguments of the command that was printed last; none before the job has started."""
        for engine in reversed(self.engines):
            found = _RESUME.search(engine.output)
            if found:
                return shlex.split(found[1])
        return None

    def stop(self, patience_s: float) -> int:
        """Stop the newest process as Ctrl-C does; return its exit code."""
        self.engines[-1].signal(signal.SIGINT)
        return self.engines[-1].wait(patience_s)

    def end(self) -> None:
        """Kill what is left of all processes."""
        for engine in self.engines:
            engine.end()
