"""``python -m tests.bench.page build/bench.json``: figures and plots of ``docs/evidence/benchmarks.md``, from a run."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.figure import Figure, Goal

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "benchmarks.md"
PLOTS = PAGE.parent / "benchmarks"
BEGIN, END = "<!-- figures: made by python -m tests.bench.page -->", "<!-- end of the figures -->"
_OURS, _OTHERS = "#1f77b4", "#b0b7bf"

Told = Mapping[str, Any]


def figures_of(said: Told) -> str:
    """Everything between the two marks of the page."""
    machine = said["machine"]
    memory = machine["memory_bytes"] / 2**30
    about = (
        f"Measured on {machine['date']}: {machine['processors']} processors ({machine['model']}), {memory:.0f} GiB, "
        f"{machine['system']}, Python {machine['python']}, PySpark {machine['pyspark']}, PyArrow {machine['pyarrow']}; "
        f"load before: {machine['load']}. Values are medians of {said['rounds']} rounds, with the smallest and largest."
    )
    return "\n\n".join([about, "### The goals", _table(_with_goals(said)), *_cases(said)])


def _with_goals(said: Told) -> Iterator[Sequence[str]]:
    yield ("case", "figure", "goal", "measured", "")
    for case in said["cases"]:
        for figure in map(_figure, case["figures"]):
            if figure.goal is not None:
                yield (case["case"], figure.what, str(figure.goal), f"**{figure.spread()}**", figure.verdict)


def _cases(said: Told) -> Iterator[str]:
    for case in said["cases"]:
        rows = [("figure", "measured"), *((each.what, each.spread()) for each in map(_figure, case["figures"]))]
        plot = f"![{case['title']}](benchmarks/{case['case']}.svg)\n\n" if _times(case) else ""
        yield f"### `{case['case']}`: {case['title']}\n\n{plot}{_table(iter(rows))}"


def _table(rows: Iterator[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _figure(said: Told) -> Figure:
    goal = Goal(**said["goal"]) if said["goal"] else None
    unit = "" if said["unit"] == "ratio" else said["unit"]
    return Figure(what=said["what"], values=tuple(said["values"]), unit=unit, goal=goal)


def _times(case: Told) -> dict[str, list[float]]:
    """The seconds from start to exit of each system, where several took turns."""
    systems = list(case["rounds"][0]) if case["rounds"] else []
    if len(systems) < 2:
        return {}
    systems.sort(key=lambda name: not _is_ours(name))
    return {name: [each[name]["start_to_exit_s"] for each in case["rounds"]] for name in systems}


def _is_ours(system: str) -> bool:
    return system.startswith(("ours", "small", "help", "check")) and system != "smallest program"


def plot(case: Told, file: Path) -> None:
    """A bar up to the median of each system, and a point for each round."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "seatunnel", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    times = _times(case)
    drawn, axes = pyplot.subplots(figsize=(7.5, 0.5 + 0.38 * len(times)), layout="constrained")
    for place, (name, seconds) in enumerate(reversed(times.items())):
        colour = _OURS if _is_ours(name) else _OTHERS
        axes.barh(place, sorted(seconds)[len(seconds) // 2], color=colour, height=0.62)
        axes.plot(seconds, [place] * len(seconds), "o", color="#333333", markersize=3)
    axes.set_yticks(range(len(times)), list(reversed(times)))
    axes.set_xlabel("seconds from start to exit")
    axes.spines[["top", "right"]].set_visible(False)
    drawn.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(drawn)


def main(source: Path) -> None:
    said = json.loads(source.read_text(encoding="utf-8"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{figures_of(said)}\n\n{END}{after}", encoding="utf-8")
    PLOTS.mkdir(exist_ok=True)
    for case in said["cases"]:
        if _times(case):
            plot(case, PLOTS / f"{case['case']}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
