"""``python -m tests.bench.ten_tasks``: ten tasks by our jobs and by scripts of dlt, on this machine.

The programs are those of ``examples/beside-dlt``. The two systems take turns; each run has an empty place, and is
judged row by row. With ``--kills`` each program is also killed so many times, with all that it started, and run again:
at moments that divide its usual time evenly. What was measured before for other tasks stays in the file.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import define

from tests.bench.__main__ import machine
from tests.bench.peers import DLT_VENV
from tests.bench.ten_tasks.place import DLT, OURS, Servers
from tests.bench.ten_tasks.play import Kill, Play, PlayError
from tests.bench.ten_tasks.task import Task
from tests.bench.ten_tasks.tasks import TASKS
from tests.servers.postgres import Postgres

SYSTEMS = (OURS, DLT)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ten_tasks", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; all when none is named")
    parser.add_argument("--rounds", type=int, default=3, help="how often each system runs undisturbed")
    parser.add_argument("--kills", type=int, default=3, help="how often each is killed")
    parser.add_argument("--system", choices=SYSTEMS, help="only this one")
    parser.add_argument("--short", action="store_true", help="few rows, to see that the programs work")
    parser.add_argument("--data", type=Path, default=Path("bench-output"), help="where rows are made and kept")
    parser.add_argument("--json", type=Path, default=Path("build/ten-tasks.json"), help="takes what was measured")
    arguments = parser.parse_args(argv)
    unknown = sorted(set(arguments.tasks) - set(TASKS))
    if unknown:
        parser.error(f"there is no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
    data = arguments.data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    systems = (arguments.system,) if arguments.system else SYSTEMS
    bench = _Bench(data, arguments.json, systems, arguments.short)
    for name in arguments.tasks or TASKS:
        bench.play(TASKS[name], arguments.rounds, arguments.kills)
    return 0


@define
class _Bench:
    data: Path
    file: Path
    systems: Sequence[str]
    short: bool

    def play(self, task: Task, rounds: int, kills: int) -> None:
        print(f"\n{task.name}: {task.title}", flush=True)
        servers = Servers(postgres=Postgres() if task.needs_postgres else None)
        try:
            if servers.postgres is not None:
                servers.postgres.start()
            play = Play.of(task, self.data, servers, short=self.short)
            for number in range(rounds):
                for system in self.systems if number % 2 else reversed(self.systems):
                    self._turn(play, system, "turns", None, first=number == 0)
            for system in self.systems if kills else ():
                self._killed(play, system, kills)
        finally:
            servers.stop()

    def _killed(self, play: Play, system: str, kills: int) -> None:
        usual_s = self._turn(play, system, "undisturbed", None, first=True)
        for number in range(kills if usual_s else 0):
            moment_s = usual_s * (number + 1) / (kills + 1)
            self._turn(play, system, "kills", Kill(after_s=moment_s), first=number == 0)

    def _turn(self, play: Play, system: str, kind: str, kill: Kill | None, *, first: bool) -> float:
        """Play one, keep it with the others of its kind, and return its seconds."""
        try:
            turn = play.turn(system, kill)
        except PlayError as error:
            told, seconds = {"failed": str(error)}, 0.0
        else:
            told, seconds = turn.as_json(), turn.seconds
        print(f"  {system:4} {kind}: {told}", flush=True)
        said = json.loads(self.file.read_text("utf-8")) if self.file.exists() else {}
        said["machine"] = {**machine(), "dlt": _version_of_dlt(self.data)}
        of_task = said.setdefault("tasks", {}).setdefault(play.task.name, {})
        of_task["title"] = play.task.title
        of_system = of_task.setdefault(system, {})
        of_system["lines"] = play.task.lines(system)
        of_system[kind] = [told] if first else [*of_system[kind], told]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
        return seconds


def _version_of_dlt(data: Path) -> str:
    found = (data / DLT_VENV).glob("lib/python*/site-packages/dlt-*.dist-info")
    return "".join(each.name.removeprefix("dlt-").removesuffix(".dist-info") for each in found)


if __name__ == "__main__":
    sys.exit(main())
