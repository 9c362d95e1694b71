"""What tests measured, counted or broke, told at the end of the run: output is shown of failed tests only."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Figure = Callable[[str], None]


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Takes a line for the end of the run."""
    return lambda line: record_property("figure", line)


def recorded(terminalreporter: pytest.TerminalReporter, name: str) -> Iterator[tuple[str, Any]]:
    """The tests that passed and recorded the property, with what they recorded."""
    for report in terminalreporter.stats.get("passed", []):
        for key, value in report.user_properties:
            if key == name:
                yield report.nodeid, value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tell_mutants(terminalreporter)
    said = list(recorded(terminalreporter, "figure"))
    if not said:
        return
    terminalreporter.section("figures")
    for test in dict.fromkeys(test for test, _ in said):
        terminalreporter.write_line(test)
        for line in (line for other, line in said if other == test):
            terminalreporter.write_line(f"    {line}")


def tell_mutants(terminalreporter: pytest.TerminalReporter) -> None:
    """What was broken on purpose: the rule, what was done to it, who found it, and after how much."""
    found = [value for _, value in recorded(terminalreporter, "mutant")]
    if not found:
        return
    terminalreporter.section(f"{len(found)} broken on purpose, and found")
    rows = sorted(tuple(map(str, row)) for row in found)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        terminalreporter.write_line(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
