"""Generator of the page that shows the promises that each storage keeps, from the reports of test runs."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from seatunnel_storage_api.testing.promises import PROMISES, promises_of
from seatunnel_storage_api.testing.report import (
    FAILED,
    NOT_PROMISED,
    NOT_RUN,
    NOT_SELECTED,
    PASSED,
    PromiseReport,
    Verdicts,
    read,
)

TITLE = "# Which storage keeps which promise"

_ABOUT = """
Generated from test runs: each figure is the number of tests of the kit (`seatunnel_storage_api.testing`) that the
storage passed for a promise, with the versions listed below. *In part*: the storage does not promise everything that
the tests check. *Not run*: no test of the promise was run. The tests of promise 12 count calls of the primitives,
unless a suite counts network requests; if one primitive sends several requests, as in file systems below fsspec, these
are not counted.
"""


def page(report: PromiseReport) -> str:
    """Return the page in Markdown: the table, the promises, the tested storages, and the tests that did not pass."""
    storages = {name: verdicts for name, verdicts in sorted(report.storages.items()) if _selected(verdicts)}
    parts = [TITLE, _ABOUT.strip(), _table(storages), "## The promises", _promises(), "## What was tested"]
    return "\n\n".join([*parts, _tested(storages), "## What did not pass", _rest(storages)]) + "\n"


def _selected(verdicts: Verdicts) -> bool:
    return any(why != NOT_SELECTED for _, why in verdicts.tests.values())


def _table(storages: Mapping[str, Verdicts]) -> str:
    rows = [["promise", *storages], ["---"] * (len(storages) + 1)]
    rows += [[str(number), *(_cell(each, number) for each in storages.values())] for number in PROMISES]
    return _rows(rows)


def _cell(verdicts: Verdicts, promise: int) -> str:
    outcomes = [outcome for outcome, _ in verdicts.about(promise).values()]
    passed, failed, left = (outcomes.count(each) for each in (PASSED, FAILED, NOT_RUN))
    if failed:
        return f"**BROKEN** ({failed} of {len(outcomes)})"
    if NOT_PROMISED in outcomes:
        return f"in part ({passed} of {len(outcomes)})"
    return f"kept ({passed}{f', {left} not run' if left else ''})" if passed else "not run"


def _promises() -> str:
    return "\n".join(f"{number}. {text}" for number, text in PROMISES.items())


def _tested(storages: Mapping[str, Verdicts]) -> str:
    rows = [["storage", "versions of server and client", "passed", "failed", "not promised", "not run"], ["---"] * 6]
    for name, verdicts in storages.items():
        outcomes = [outcome for outcome, _ in verdicts.tests.values()]
        counts = [str(outcomes.count(outcome)) for outcome in (PASSED, FAILED, NOT_PROMISED, NOT_RUN)]
        rows.append([name, verdicts.version or "unknown", *counts])
    return _rows(rows)


def _rest(storages: Mapping[str, Verdicts]) -> str:
    """Return one line for each failed test, and one for each reason why tests did not run."""
    lines = []
    for name, verdicts in storages.items():
        idle: dict[str, int] = {}
        for test, (outcome, why) in verdicts.tests.items():
            if outcome in (FAILED, NOT_PROMISED):
                numbers = ", ".join(map(str, promises_of(test)))
                lines.append(f"- {name}, promise {numbers}, {outcome}: `{test.rpartition('::')[2]}`: {why}")
            elif outcome == NOT_RUN:
                idle[why] = idle.get(why, 0) + 1
        lines += [f"- {name}: {count} tests did not run: {why}" for why, count in idle.items()]
    return "\n".join(lines) or "Everything passed."


def _rows(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)


def main(arguments: Sequence[str]) -> int:
    """Print the page of all reports in the given files, and return the exit code."""
    everything = PromiseReport()
    for path in arguments:
        everything.take_over(read(Path(path)))
    sys.stdout.write(page(everything))
    return 0
