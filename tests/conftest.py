"""What holds for every test: how many examples a property test takes, and that nothing is left out in silence."""

import gc
import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester", "seatunnel_storage_api.testing.report", "tests.figures", "tests.shared"]

NUMBERS = itertools.count()
"""Of the folders of tests."""

_SHOWN_AT_ONCE = 2000
"""Characters of a failure that are printed when it happens."""

_LONG_S = 600
"""Time limit of a test that may take as long as tests that start Spark."""

# The clock of a busy machine is no property of our code, so examples have no deadline. `make test` plays the same
# examples each time, so that it judges the commit and not the luck of the day; `make fuzz` sets a number and draws.
settings.register_profile(
    "project",
    deadline=None,
    derandomize="SEATUNNEL_EXAMPLES" not in os.environ,
    max_examples=int(os.environ.get("SEATUNNEL_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")
if "SEATUNNEL_EXAMPLES" not in os.environ:
    os.environ.setdefault("SEATUNNEL_SEED", "1")  # what the kit of storages draws for itself


@pytest.fixture(autouse=True, scope="session")
def jobs_of_other_runs_are_out_of_sight() -> Iterator[None]:
    """The folders of tests have long names, so that running jobs would listen in a folder that all processes of the
    user share, and a command about ``job-1`` would reach that of another run of the tests beside this one."""
    with tempfile.TemporaryDirectory(prefix="st-", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pytest's own looks through the folders of all earlier tests for a free number, thousands of them each time."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True, scope="session")
def classes_are_archived_in_one_place() -> Iterator[None]:
    """For jobs in homes of their own, too: each would leave a process behind that makes an archive for its home."""
    from seatunnel_core.spark.starting.archived_classes import FOLDER
    from seatunnel_core.spark.starting.settings import cache_folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, os.environ.get(FOLDER) or str(cache_folder(os.environ)))
        yield


@pytest.fixture(scope="session")
def modules_that_may_leak(request: pytest.FixtureRequest) -> set[Path]:
    """Those with tests of servers, clusters and installs: what they open belongs to many clients, not only ours."""
    kinds = ("servers", "cluster", "install")
    return {item.path for item in request.session.items if any(map(item.get_closest_marker, kinds))}


@pytest.fixture(autouse=True, scope="module")
def leaks_are_found_where_they_were_made(
    request: pytest.FixtureRequest, modules_that_may_leak: set[Path]
) -> Iterator[None]:
    """A socket that nobody closed is an error when the garbage collector meets it, which may be amid any later test. So
    it collects at the end of the module, and the last test of that is blamed."""
    yield
    if request.path in modules_that_may_leak:
        gc.collect()


@pytest.fixture(scope="module")
def one_spark_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The application's own session, which the engine uses and leaves open: for a module with many jobs."""
    from seatunnel_core.spark.starting.session import start, stop
    from seatunnel_core.spark.starting.settings import SparkSettings

    folder = tmp_path_factory.mktemp("spark")
    running = start(SparkSettings(parallelism=2, log_file=folder / "spark.log", cache=folder))
    yield
    stop(running)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups come first, and of the others what may take longest and what starts Spark: no worker is left alone with
    them at the end."""

    def place(item: pytest.Item) -> tuple[int, float]:
        allowed = item.get_closest_marker("timeout")
        limit = allowed.args[0] if allowed is not None else 0.0
        if any(item.iter_markers("xdist_group")):
            kind = 0
        else:
            kind = 1 if limit >= _LONG_S or any(item.iter_markers("spark")) else 2
        return kind, -limit

    items.sort(key=place)


def pytest_collection() -> None:
    """Thousands of tests and all that they import stay until the end: there is hardly any garbage to look for."""
    gc.disable()


def pytest_collection_finish() -> None:
    """No collection of garbage looks at them again: to look once would take each process more than a second."""
    gc.freeze()
    gc.enable()


class FailuresAtOnce:
    """Prints each failure when it happens, not only at the end of a run of minutes. pytest's own list stays."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if not report.failed or terminal is None:
            return
        terminal.ensure_newline()
        terminal.write_line(f"NOW FAILED: {report.nodeid} ({report.when})", red=True, bold=True)
        terminal.write_line(report.longreprtext[-_SHOWN_AT_ONCE:])


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker's terminal is the controller's
        config.pluginmanager.register(FailuresAtOnce(config), "failures-at-once")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A test that could not run is no passed test: name each, with its reason, where the eye ends up."""
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section(f"{len(skipped)} TESTS DID NOT RUN", sep="!", red=True, bold=True)
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {reason.removeprefix('Skipped: ')}", red=True)
