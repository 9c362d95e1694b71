"""What tests measured or counted, told at the end of the run: what a test prints is shown of failed ones only."""

from collections.abc import Callable

import pytest

Figure = Callable[[str], None]


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Takes a line for the end of the run."""
    return lambda line: record_property("figure", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    told = [(report.nodeid, line) for report in reports for name, line in report.user_properties if name == "figure"]
    if not told:
        return
    terminalreporter.section("figures")
    for test in dict.fromkeys(test for test, _ in told):
        terminalreporter.write_line(test)
        for line in (line for other, line in told if other == test):
            terminalreporter.write_line(f"    {line}")
