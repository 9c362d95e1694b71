"""Writes the table in ``docs/reference/metrics.md`` from the code: ``python tests/reporting/metrics_page.py``."""

import re
from pathlib import Path

from seatunnel_core.reporting.open_metrics import FAMILIES, Family

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
_TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with the table as it should be."""
    rows = ["| metric | type | further labels | meaning |", "|---|---|---|---|", *map(_row, FAMILIES)]
    return _TABLE.sub(lambda _: "\n".join((*rows, "")), text)


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.help} |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
