"""``python -m tests.connectors.parity_page`` writes the table of what is missing into ``docs/start/java-parity.md``."""

from itertools import groupby
from pathlib import Path

from seatunnel_core.registry.not_yet import NotYet, all_of_them

PAGE = Path(__file__).parents[2] / "docs" / "start" / "java-parity.md"
BEGIN = "<!-- made by python -m tests.connectors.parity_page; change seatunnel_core/registry/not_yet.py instead -->\n"
END = "<!-- end -->"
BY_FILES = "or write a connector (`seatunnel help write-a-connector`)"
"""The end of a workaround that many rows share; the page explains the word ``files``."""


def page(text: str) -> str:
    """Return the page with a new table."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + "\n".join(_table()) + "\n\n" + END + rest.partition(END)[2]


def _table() -> list[str]:
    def same(each: NotYet) -> tuple[bool, str, str, str]:
        return not each.planned, each.kind, each.why, each.instead

    rows = []
    for (later, kind, why, instead), group in groupby(sorted(all_of_them(), key=same), same):
        names = ", ".join(f"`{each.name}`{f' (Spark: `{each.spark}`)' if each.spark else ''}" for each in group)
        instead = "files" if instead.endswith(BY_FILES) else instead
        rows.append(f"| {kind} | {names} | {why} | {'not planned' if later else 'planned'} | {instead} |")
    return ["| kind | name | what it is | state | workaround |", "|---|---|---|---|---|", *rows]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
