"""Report of kept and broken promises: a pytest plugin, and the file that it writes.

Enable it in the ``conftest.py`` at the root of a project's tests::

    pytest_plugins = ["seatunnel_storage_api.testing.report"]

It is deliberately not a pytest entry point, because it would then slow down the test runs of all other projects in the
environment. After a run with a suite of this package, a section reports the promises that each storage kept.
``--promise-report FILE`` also writes them as JSON and merges them with the existing content, so that several runs (and
the workers of pytest-xdist) make up one report. ``python -m seatunnel_storage_api.testing FILE`` creates a page from
it.
"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import Factory, define

from seatunnel_storage_api.testing.given import StorageFixtures
from seatunnel_storage_api.testing.promises import PROMISES, promises_of, ranges, short_name

PASSED, FAILED, NOT_PROMISED, NOT_RUN = "passed", "failed", "not promised", "not run"

NOT_SELECTED = "it was not selected"

_ATTACHED = "seatunnel_promises"
"""Attribute of a pytest report with the storage's name and version, from the worker to the controller."""


@define
class Verdicts:
    """Test results of one storage."""

    version: str = ""
    tests: dict[str, tuple[str, str]] = Factory(dict)
    """Outcome of each test, with a reason unless it is ``passed``; keyed by pytest ID."""

    def note(self, test: str, outcome: str, why: str = "") -> None:
        """Record the outcome of one phase of a test. A failure is final, and "not run" does not replace "passed"."""
        known, _ = self.tests.get(test, (NOT_RUN, ""))
        if known != FAILED and not (known == PASSED and outcome == NOT_RUN):
            self.tests[test] = (outcome, why)

    def about(self, promise: int) -> dict[str, tuple[str, str]]:
        """Return the outcomes of one promise's tests, keyed by test."""
        return {test: verdict for test, verdict in self.tests.items() if promise in promises_of(test)}

    def of(self, promise: int) -> str:
        """Return the worst outcome of a promise's tests: ``failed``, ``not promised``, ``passed`` or ``not run``."""
        outcomes = {outcome for outcome, _ in self.about(promise).values()}
        return next((outcome for outcome in (FAILED, NOT_PROMISED, PASSED) if outcome in outcomes), NOT_RUN)


@define
class PromiseReport:
    """Verdicts of all storages, keyed by the names in their suites."""

    storages: dict[str, Verdicts] = Factory(dict)

    def of(self, storage: str) -> Verdicts:
        """Return the verdicts of one storage; on first use, create empty ones."""
        return self.storages.setdefault(storage, Verdicts())

    def take_over(self, later: "PromiseReport") -> None:
        """Replace outcomes with the outcomes of a later run, except for tests that the later run did not execute."""
        for name, verdicts in later.storages.items():
            mine = self.of(name)
            mine.version = verdicts.version or mine.version
            for test, (outcome, why) in verdicts.tests.items():
                if outcome != NOT_RUN or test not in mine.tests:
                    mine.tests[test] = (outcome, why)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values, sorted by storage, for ``from_json``."""
        return {
            name: {"version": verdicts.version, "tests": {test: list(said) for test, said in verdicts.tests.items()}}
            for name, verdicts in sorted(self.storages.items())
        }


def from_json(written: dict[str, Any]) -> PromiseReport:
    """Return the report from the JSON values of ``as_json``."""
    storages = {
        name: Verdicts(each["version"], {test: (outcome, why) for test, (outcome, why) in each["tests"].items()})
        for name, each in written.items()
    }
    return PromiseReport(storages)


def read(path: Path) -> PromiseReport:
    """Return the report in a file, or an empty one if the file does not exist."""
    return from_json(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else PromiseReport()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--promise-report``."""
    parser.getgroup("checkpoint storages").addoption(
        "--promise-report",
        metavar="FILE",
        type=Path,
        help="append to FILE, as JSON, the promises that each storage kept",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the observer of this run."""
    config.pluginmanager.register(Observer(config), "seatunnel-promises")


class Observer:
    """Observer of one pytest run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._report = PromiseReport()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Record a collected test as not run, until one of its phases ends."""
        suite = _suite(item)
        if suite is not None:
            self._report.of(suite.backend or suite.__name__).note(item.nodeid, NOT_RUN, NOT_SELECTED)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the storage's name and version to the test's report, which may be sent to another process."""
        report = yield
        suite = _suite(item)
        if suite is not None:
            setattr(report, _ATTACHED, [suite.backend or suite.__name__, suite.backend_version])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the outcome of a test to the promise report of its storage."""
        storage, version = getattr(report, _ATTACHED, ("", ""))
        if storage and (report.when == "call" or not report.passed):
            verdicts = self._report.of(storage)
            verdicts.version = version or verdicts.version
            verdicts.note(report.nodeid, *_verdict(report))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Merge the report of a pytest-xdist worker; only the worker knows which tests were not selected."""
        self._report.take_over(from_json(getattr(node, "workeroutput", {}).get(_ATTACHED, {})))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Send the report from a worker to its controller, or add it to the file of ``--promise-report``."""
        worker = getattr(self._config, "workeroutput", None)
        path = self._config.getoption("--promise-report")
        if worker is not None:
            worker[_ATTACHED] = self._report.as_json()
        elif path is not None:
            everything = read(path)
            everything.take_over(self._report)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(everything.as_json(), indent=1) + "\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print one line for each storage, and one in red for each broken promise."""
        lines = [line for name, verdicts in sorted(self._report.storages.items()) for line in summary(name, verdicts)]
        if lines:
            terminalreporter.section("promises of checkpoint storages")
        for line in lines:
            terminalreporter.write_line(line, red="BROKEN" in line)


def summary(name: str, verdicts: Verdicts) -> list[str]:
    """Return the lines about one storage that are printed after a run; empty if none of its tests ran."""
    by_outcome = {
        outcome: [number for number in PROMISES if verdicts.of(number) == outcome]
        for outcome in (PASSED, FAILED, NOT_PROMISED)
    }
    if not any(by_outcome.values()):
        return []
    left = [number for number in PROMISES if verdicts.of(number) == NOT_RUN]
    parts = {"kept": by_outcome[PASSED], "not promised": by_outcome[NOT_PROMISED], "not run": left}
    lines = [f"{name}: " + "; ".join(f"{part} {ranges(numbers)}" for part, numbers in parts.items() if numbers)]
    for number in by_outcome[FAILED]:
        failures: dict[str, list[str]] = {}
        for test, (outcome, why) in verdicts.about(number).items():
            if outcome == FAILED:
                failures.setdefault(test.rpartition("::")[2].partition("[")[0], []).append(why)
        lines += [
            f"  promise {number} ({short_name(number)}): BROKEN by {test}{_cases(whys)}: {whys[0]}"
            for test, whys in failures.items()
        ]
    return lines


def _cases(whys: list[str]) -> str:
    """Return the number of failed cases of a test in parentheses if there are several; otherwise an empty string."""
    return f" ({len(whys)} cases)" if len(whys) > 1 else ""


def _suite(item: pytest.Item) -> type[StorageFixtures] | None:
    owner = getattr(item, "cls", None)
    return owner if isinstance(owner, type) and issubclass(owner, StorageFixtures) and promises_of(item.name) else None


def _verdict(report: pytest.TestReport) -> tuple[str, str]:
    if report.passed:
        return PASSED, ""
    if hasattr(report, "wasxfail"):
        return NOT_PROMISED, report.wasxfail.removeprefix("reason: ")
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        return NOT_RUN, reason.removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    said = (crash.message if crash is not None else report.longreprtext).strip().splitlines()
    return FAILED, said[0] if said else "it failed without a message"
