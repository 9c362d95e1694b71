"""Draws the transition table into the documentation: ``python -m tests.checkpoint.drawing``.

The picture has one box for each phase, in the order of ``Phase``. An arrow down leads to the next phase. A line on the
right skips phases, and the line on the left collects every step to ``ended``. It is drawn for a width of 400 pixels.
"""

import re
import textwrap
from html import escape
from pathlib import Path

from attrs import frozen

from seatunnel_core.checkpoint.transitions import TRANSITIONS, Phase

DOCS = Path(__file__).parents[2] / "docs" / "design"
PAGE = DOCS / "checkpoint-protocol.md"
PICTURE = DOCS / "pipeline-phases.svg"
MARKS = "<!-- table -->", "<!-- end of table -->"

_WIDTH, _TOP, _PITCH = 400, 84, 72
_LEFT, _BOX, _HEIGHT = 34, 150, 36
"""Of a box: where it begins, how wide and how high it is."""

_END_LINE, _FIRST_LINE, _LINE_GAP = 14, 318, 24
"""Where the line to ``ended`` and the first of the lines that skip phases stand."""

_ENTERS, _LEAVES = -11, 9
"""Above and below the middle of a box, where a line from the right enters and leaves it."""

_LABEL = 33
"""How many characters a line of a label has."""

_STYLE = """
    svg { --paper: #ffffff; --ink: #1f2430; --quiet: #5a6275; --line: #7d869c; --box: #e8ecfb; --edge: #4051b5 }
    @media (prefers-color-scheme: dark) {
      svg { --paper: #1e2129; --ink: #e8eaf0; --quiet: #a9b1c4; --line: #8089a0; --box: #2c3350; --edge: #93a2f5 }
    }
    .paper { fill: var(--paper) } .box { fill: var(--box); stroke: var(--edge); stroke-width: 1.5 }
    text { font: 11px system-ui, sans-serif; fill: var(--quiet) }
    .phase { font-size: 14px; font-weight: 600; fill: var(--ink); text-anchor: middle }
    .line { fill: none; stroke: var(--line); stroke-width: 1.5 } .end { stroke-dasharray: 3 3 }
    .head { fill: var(--line) }"""


@frozen
class Arrow:
    """The steps from one phase to another."""

    source: int
    """The place of the phase in ``Phase``."""

    target: int
    events: tuple[str, ...]


def arrows() -> list[Arrow]:
    """Return every arrow between two phases, by its source and its target."""
    order = list(Phase)
    found: dict[tuple[int, int], list[str]] = {}
    for row in TRANSITIONS:
        for to in row.to:
            if to is not row.phase:
                found.setdefault((order.index(row.phase), order.index(to)), []).append(row.event.__name__)
    return [Arrow(source, target, tuple(events)) for (source, target), events in sorted(found.items())]


def picture() -> str:
    """Return the table as an SVG."""
    last = len(Phase) - 1
    found = arrows()
    ending = [each for each in found if each.target == last and each.source != last - 1]
    onward = [each for each in found if each.target == each.source + 1]
    skipping = [each for each in found if each not in ending and each not in onward]
    parts = [_heading(), *_to_the_end(ending, last), *_skips(skipping), *(_step(each) for each in onward)]
    parts += [_box(place, phase.value) for place, phase in enumerate(Phase)]
    height = _middle(last) + _HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-labelledby="title">',
            '  <title id="title">The phases of a pipeline, and the events that lead from one to the next</title>',
            f"  <style>{_STYLE}\n  </style>",
            f'  <rect class="paper" width="{_WIDTH}" height="{height}" rx="8"/>',
            *(f"  {part}" for part in parts),
            "</svg>\n",
        ]
    )


def table() -> str:
    """Return every row of the table, by phase."""
    lines = ["| phase | event | next phase |", "|---|---|---|"]
    for phase in Phase:
        for row in TRANSITIONS:
            if row.phase is phase:
                then = ", ".join("stays" if to is phase else to.value for to in row.to)
                lines.append(f"| {phase.value} | `{row.event.__name__}` | {then} |")
    return "\n".join(lines)


def drawn(page: str) -> str:
    """Return ``page`` with the table as it is now."""
    start, end = MARKS
    return re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{table()}\n{end}", page, flags=re.DOTALL)


def _middle(place: int) -> int:
    return _TOP + place * _PITCH


def _heading() -> str:
    said = (
        "Arrows carry the events that cause the step.",
        "Dashed line: the pipeline may end in this phase,",
        "by a failure, a lost fence, a stop or a deadline.",
    )
    return "".join(_text(_LEFT, 18 + 15 * number, line) for number, line in enumerate(said))


def _box(place: int, name: str) -> str:
    middle = _middle(place)
    return (
        f'<rect class="box" x="{_LEFT}" y="{middle - _HEIGHT // 2}" width="{_BOX}" height="{_HEIGHT}" rx="6"/>'
        f'<text class="phase" x="{_LEFT + _BOX // 2}" y="{middle + 5}">{escape(name)}</text>'
    )


def _step(arrow: Arrow) -> str:
    """Return an arrow down, with its events beside it."""
    x, above, below = _LEFT + 20, _middle(arrow.source) + _HEIGHT // 2, _middle(arrow.target) - _HEIGHT // 2
    lines = textwrap.wrap(", ".join(arrow.events), _LABEL)
    first = (above + below) // 2 + 4 - 6 * (len(lines) - 1)
    texts = "".join(_text(x + 10, first + 13 * number, line) for number, line in enumerate(lines))
    return f'<path class="line" d="M{x} {above}V{below - 6}"/>{_head(x, below, down=True)}{texts}'


def _skips(skipping: list[Arrow]) -> list[str]:
    """Return the lines on the right, one for each target, as far to the left as there is room."""
    parts, taken = [], [0] * len(Phase)
    edge = _LEFT + _BOX
    lanes: dict[int, int] = {}
    for target in sorted({each.target for each in skipping}):
        sources = [each.source for each in skipping if each.target == target]
        lane = next(number for number, until in enumerate(taken) if until <= min(sources))
        taken[lane], lanes[target] = target, _FIRST_LINE + lane * _LINE_GAP
        top, bottom = _middle(min(sources)) + _LEAVES, _middle(target) + _ENTERS
        parts.append(f'<path class="line" d="M{lanes[target]} {top}V{bottom}H{edge + 6}"/>{_head(edge, bottom)}')
    for source in sorted({each.source for each in skipping}):
        leaving = [each for each in skipping if each.source == source]
        y = _middle(source) + _LEAVES
        far = max(lanes[each.target] for each in leaving)
        parts.append(f'<path class="line" d="M{edge} {y}H{far}"/>')
        parts += [f'<circle class="head" cx="{lanes[each.target]}" cy="{y}" r="2.5"/>' for each in leaving]
        names = list(dict.fromkeys(name for each in leaving for name in each.events))
        parts += [_text(edge + 8, y - 4 + 16 * number, name) for number, name in enumerate(names)]
    return parts


def _to_the_end(ending: list[Arrow], last: int) -> list[str]:
    """Return the line on the left."""
    top, bottom = _middle(min(each.source for each in ending)), _middle(last)
    ways = "".join(f"M{_LEFT} {_middle(each.source)}H{_END_LINE}" for each in ending)
    line = f'<path class="line end" d="{ways}M{_END_LINE} {top}V{bottom}H{_LEFT - 6}"/>'
    return [line, _head(_LEFT, bottom, right=True)]


def _head(x: int, y: int, *, down: bool = False, right: bool = False) -> str:
    """Return the head of an arrow that ends here; it points to the left unless it is said otherwise."""
    if down:
        points = f"{x},{y} {x - 5},{y - 8} {x + 5},{y - 8}"
    else:
        back = x - 8 if right else x + 8
        points = f"{x},{y} {back},{y - 5} {back},{y + 5}"
    return f'<polygon class="head" points="{points}"/>'


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(text)}</text>'


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(picture(), "utf-8")
