"""``python -m tests.bench.ten_tasks.page build/ten-tasks.json``: the tables of ``docs/evidence/beside-dlt.md``."""

import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.ten_tasks.place import DLT, OURS
from tests.bench.ten_tasks.tasks import TASKS

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "beside-dlt.md"
BEGIN, END = "<!-- figures: made by python -m tests.bench.ten_tasks.page -->", "<!-- end of the figures -->"
TIE = 1.1
"""What differs by less than a tenth is a tie."""

Told = Mapping[str, Any]


def figures_of(said: Told) -> str:
    """Everything between the two marks of the page."""
    machine, tasks = said["machine"], said["tasks"]
    there = [(name, tasks[name]) for name in TASKS if name in tasks]
    about = (
        f"Measured on {machine['date']}: {machine['processors']} processors ({machine['model']}), "
        f"{machine['memory_bytes'] / 2**30:.0f} GiB, Python {machine['python']}, PySpark {machine['pyspark']}, "
        f"dlt {machine['dlt']}. Medians, with the smallest and the largest of all rounds; the better one is bold if "
        "they differ by at least a tenth."
    )
    undisturbed = _table(_undisturbed(there))
    killed = _table(_killed(there))
    return f"{about}\n\n{undisturbed}\n\n### Killed and restarted\n\n{killed}"


def _undisturbed(tasks: Sequence[tuple[str, Told]]) -> Iterator[Sequence[str]]:
    yield ("task", "lines: ours", "dlt", "seconds: ours", "dlt", "memory in MB: ours", "dlt")
    for name, task in tasks:
        lines = _pair(task, lambda system: [system["lines"]])
        seconds = _pair(task, lambda system: [turn["seconds"] for turn in _right(system)])
        memory = _pair(task, lambda system: [turn["peak_bytes"] / 1e6 for turn in _right(system)], digits=0)
        yield (f"`{name}`: {task['title']}", *lines, *seconds, *memory)


def _right(system: Told) -> list[Told]:
    """The turns that came to their end."""
    return [turn for turn in system.get("turns", []) if "failed" not in turn]


def _has_failed(system: Told) -> bool:
    return any("failed" in turn for kind in ("turns", "undisturbed") for turn in system.get(kind, []))


def _pair(task: Told, values_of: Callable[[Told], list[float]], digits: int = 1) -> tuple[str, str]:
    """The cells of both systems for one figure, of which less is better."""
    told = [task.get(system, {}) for system in (OURS, DLT)]
    values = [values_of(each) if each else [] for each in told]
    middles = [statistics.median(each) if each else float("inf") for each in values]
    cells = [
        _spread(each, digits) if each else "fails" if _has_failed(system) else "not measured"
        for each, system in zip(values, told, strict=True)
    ]
    for number in (0, 1):
        if values[number] and middles[number] * TIE <= middles[1 - number]:
            cells[number] = f"**{cells[number]}**"
    return cells[0], cells[1]


def _spread(values: Sequence[float], digits: int) -> str:
    if len(set(values)) == 1 and isinstance(values[0], int):
        return f"{values[0]}"
    low, middle, high = (f"{each:,.{digits}f}" for each in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def _killed(tasks: Sequence[tuple[str, Told]]) -> Iterator[Sequence[str]]:
    yield ("task", "kills", "rows lost or duplicated: ours", "dlt", "seconds until all rows have arrived: ours", "dlt")
    for name, task in tasks:
        kills = [_kills(task.get(system, {})) for system in (OURS, DLT)]
        if any(kills):
            seconds = _pair(task, lambda system: [turn["seconds"] for turn in _kills(system)])
            yield (f"`{name}`", f"{len(kills[0])} and {len(kills[1])}", *map(_faults, kills), *seconds)


def _kills(system: Told) -> list[Told]:
    """The turns that were killed in time."""
    return [turn for turn in system.get("kills", []) if turn.get("killed_after_s") is not None]


def _faults(kills: Sequence[Told]) -> str:
    """In how many turns which rows were wrong."""
    if not kills:
        return "not killed in time"
    wrong = [turn["judgement"] for turn in kills if any(turn["judgement"].values())]
    if not wrong:
        return "**none**"
    parts = [f"{sum(each[kind] for each in wrong):,} {kind}" for kind in wrong[0] if any(each[kind] for each in wrong)]
    return f"{', '.join(parts)}, in {len(wrong)} of {len(kills)}"


def _table(rows: Iterator[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *body])


def main(source: Path) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    said = json.loads(source.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}{BEGIN}\n\n{figures_of(said)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
