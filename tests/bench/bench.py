"""Plays a case: its systems take turns, each run in a new process and an empty folder, and what it tells is kept."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from seatunnel_core.spark.starting import archived_classes
from tests.bench import jobs, peers
from tests.bench.figure import Figure, Goal, ratios
from tests.bench.process_tree import watched

Round = dict[str, dict[str, float]]
"""What each system measured, by its name."""

_ON_A_NEW_MACHINE = {"smallest-job, the first on a machine": "smallest-job"}
"""What it is otherwise."""

_ROOT = Path(__file__).parents[2]


@define
class Played:
    """All rounds of some systems."""

    rounds: list[Round]

    def values(self, system: str, key: str) -> list[float]:
        return [each[system][key] for each in self.rounds]

    def ratio(self, above: str, below: str, key: str, goal: Goal | None = None, what: str = "") -> Figure:
        """Of two systems, within each round."""
        named = what or f"{above} / {below}, {_KEYS.get(key, key)}"
        return Figure(what=named, values=ratios(self.values(above, key), self.values(below, key)), goal=goal)

    def value(self, system: str, key: str, unit: str = "s", goal: Goal | None = None) -> Figure:
        return Figure(what=f"{system}, {_KEYS.get(key, key)}", values=self.values(system, key), unit=unit, goal=goal)


_KEYS = {
    "start_to_exit_s": "start to exit",
    "wall_s": "after Spark is up",
    "cpu_s": "processor time after Spark is up",
    "all_cpu_s": "processor time, start to exit",
    "peak_bytes": "memory at its peak",
    "driver_bytes": "memory of the driver at its peak",
    "first_commit_s": "from the time Spark is ready to the first commit",
    "ms_per_table": "from the time Spark is ready to the last commit, for each table",
}


@define
class Bench:
    """One run of the benchmark."""

    data: Path
    rounds: int
    recorded: list[dict[str, Any]] = field(factory=list)
    """What all cases told, as it goes into the JSON."""

    _figures: list[Figure] = field(factory=list)
    _played: list[Round] = field(factory=list)
    _folders: list[Path] = field(factory=list)

    def case(self, name: str, title: str, play: Any) -> None:
        """Play one case, and keep what it tells."""
        self._figures, self._played = [], []
        print(f"\n{name}: {title}", flush=True)
        play(self)
        figures = [figure.as_json() for figure in self._figures]
        self.recorded.append({"case": name, "title": title, "figures": figures, "rounds": self._played})

    def record(self, *figures: Figure) -> None:
        for figure in figures:
            print(f"  {figure}", flush=True)
        self._figures.extend(figures)

    def play(self, systems: Sequence[str], table: Path, rounds: int | None = None) -> Played:
        """Each system once in each round, all with the same table."""
        return self.play_turns({name: (name, table) for name in systems}, rounds)

    def play_turns(self, turns: Mapping[str, tuple[str, Path]], rounds: int | None = None) -> Played:
        """Each turn, which is a system with its table, once in each round; the order changes from round to round."""
        played, names = [], list(turns)
        for number in range(rounds or self.rounds):
            first = number % len(names)
            order = [*names[first:], *names[:first]]
            played.append({name: self.run(*turns[name]) for name in order})
            shown = ", ".join(f"{name} {_short(played[-1][name])}" for name in names)
            print(f"    round {number + 1}: {shown}", flush=True)
        self._played.extend(played)
        # Not after each run: where thousands of files were just removed, ext4 takes long to find place for new ones.
        while self._folders:
            shutil.rmtree(self._folders.pop())
        return Played(played)

    def run(self, name: str, table: Path) -> dict[str, float]:
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self.data))
        self._folders.append(folder)
        log = folder / "log"
        command = self._command(name, folder, table)  # which may have to install something first
        os.sync()  # what an earlier run left for the kernel to write would be written in this one's time
        began = time.perf_counter()
        with log.open("wb") as errors:
            environment = _as_on_a_new_machine(folder) if name in _ON_A_NEW_MACHINE else None
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, cwd=_ROOT, env=environment)
        with process, watched(process) as tree:
            assert process.stdout is not None
            said = process.stdout.read()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it ends, and can still be looked at
            start_to_exit_s = time.perf_counter() - began
        if process.returncode:
            sys.exit(f"{name} ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        last = said.decode().splitlines()[-1:]
        measured = json.loads(last[0]) if last and last[0].startswith("{") else {}
        if "ready_at" in measured:
            measured["cpu_s"] = tree.cpu_s - tree.cpu_s_at(measured["ready_at"])
        memory = {"peak_bytes": float(tree.peak_bytes), "driver_bytes": float(tree.driver_bytes)}
        return {"start_to_exit_s": start_to_exit_s, "all_cpu_s": tree.cpu_s, **memory, **measured}

    def _command(self, name: str, folder: Path, table: Path) -> list[str]:
        seatunnel = [sys.executable, "-m", "seatunnel_core.cli"]
        match _ON_A_NEW_MACHINE.get(name, name):
            case "smallest-job":
                engine, conf = jobs.write_engine(folder), jobs.write_smallest(folder)
                return [*seatunnel, "-c", str(conf), "-m", "local[2]", "--engine-config", str(engine)]
            case "check":
                engine, conf = jobs.write_engine(folder), jobs.write_smallest(folder)
                return [*seatunnel, "-c", str(conf), "--check", "--engine-config", str(engine)]
            case "smallest-job of SeaTunnel":
                return peers.seatunnel(jobs.write_smallest(folder))
            case "help":
                return [*seatunnel, "--help"]
            case _:
                python = peers.python_of_dlt(self.data) if name == "dlt" else sys.executable
                return [str(python), "-m", "tests.bench.systems", name, str(folder), str(table)]


def _as_on_a_new_machine(folder: Path) -> dict[str, str]:
    """An environment with an empty cache folder, so that Java's classes are not archived yet."""
    kept = {name: value for name, value in os.environ.items() if name != archived_classes.FOLDER}
    return {**kept, "XDG_CACHE_HOME": str(folder / "cache")}


def _short(measured: dict[str, float]) -> str:
    name = next(key for key in ("ms_per_table", "wall_s", "transfer_s", "start_to_exit_s") if key in measured)
    return f"{measured[name]:.2f}"
