"""Draws the transition table into the documentation: ``python -m tests.checkpoint.drawing``."""

import re
from pathlib import Path

from seatunnel_core.checkpoint.transitions import TRANSITIONS, Phase

PAGE = Path(__file__).parents[2] / "docs" / "checkpoint-protocol.md"
MARKS = "<!-- {0} -->", "<!-- end of {0} -->"


def diagram() -> str:
    """The way of a pipeline that nothing disturbs, and who leaves it early, for Mermaid."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {Phase.CREATED.value}"]
    moves: dict[tuple[Phase, Phase], list[str]] = {}
    for row in TRANSITIONS:
        for to in row.to:
            if to is not row.phase:
                moves.setdefault((row.phase, to), []).append(row.event.__name__)
    order = list(Phase)
    for (phase, to), names in sorted(moves.items(), key=lambda move: [order.index(end) for end in move[0]]):
        lines.append(f"    {_identifier(phase)} --> {_identifier(to)}: {', '.join(names)}")
    lines += [f"    {Phase.ENDED.value} --> [*]", "```"]
    return "\n".join(lines)


def table() -> str:
    """Every row, by phase."""
    lines = ["| while | comes | then |", "|---|---|---|"]
    for phase in Phase:
        for row in TRANSITIONS:
            if row.phase is phase:
                then = ", ".join("stays" if to is phase else to.value for to in row.to)
                lines.append(f"| {phase.value} | `{row.event.__name__}` | {then} |")
    return "\n".join(lines)


def drawn(page: str) -> str:
    """``page`` with diagram and table as they are now."""
    for name, text in (("diagram", diagram()), ("table", table())):
        start, end = (mark.format(name) for mark in MARKS)
        page = re.sub(f"{start}.*?{end}", lambda _, t=text, s=start, e=end: f"{s}\n{t}\n{e}", page, flags=re.DOTALL)
    return page


def _identifier(phase: Phase) -> str:
    return phase.value.replace("-", "_")


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
