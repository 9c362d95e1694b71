"""The kit finds every promise that a storage breaks: storages that are wrong in the ways that real ones go wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from seatunnel_storage_api.storage import CheckpointStorageFactory
from seatunnel_storage_api.testing.promises import PROMISES
from seatunnel_storage_api.testing.report import FAILED, NOT_SELECTED, PASSED, PromiseReport, read
from tests.seatunnel_storage_api.broken.given import BROKEN, InMemory
from tests.seatunnel_storage_api.broken.page import page

ROOT = Path(__file__).parents[2]
SUITES = Path(__file__).parent / "broken" / "suites.py"

pytestmark = [pytest.mark.mutants, pytest.mark.xdist_group("broken storages")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> PromiseReport:
    """Of one run: on each broken storage the tests of the promise that it breaks, on the honest one all of them.

    Those in memory cannot be shared with other processes. Random histories find almost everything, and slowly.
    """
    path = tmp_path_factory.mktemp("broken") / "report.json"
    wanted = [f"(Test{name} and p{promise:02d}{_alone(factory)})" for name, (promise, factory) in BROKEN.items()]
    selection = f"({' or '.join(wanted)} or (TestHonest{_alone(InMemory)})) and not any_history"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-n0", "-k", selection]
    done = subprocess.run(
        [*command, "--promise-report", str(path), str(SUITES)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return read(path)


def _alone(factory: type[CheckpointStorageFactory]) -> str:
    return " and not process" if issubclass(factory, InMemory) else ""


@pytest.mark.parametrize(("name", "promise"), [(name, promise) for name, (promise, _) in BROKEN.items()])
def test_it_is_found(report: PromiseReport, name: str, promise: int) -> None:
    about = report.storages[name].about(promise)
    found = [why for outcome, why in about.values() if outcome == FAILED]
    assert found, f"no test of promise {promise} failed: {about}"
    slips = ("TypeError", "AttributeError", "NameError", "KeyError", "fixture")
    assert not [why for why in found if why.startswith(slips)], "it is broken in another way than was meant"


def test_the_honest_one_passes(report: PromiseReport) -> None:
    honest = report.storages["Honest"]
    assert {outcome for outcome, why in honest.tests.values() if why != NOT_SELECTED} == {PASSED}
    assert {number for number in PROMISES if honest.of(number) == PASSED} == set(PROMISES)


def test_every_promise_is_broken_by_one() -> None:
    assert {promise for promise, _ in BROKEN.values()} == set(PROMISES)


def test_the_page_lists_them_all() -> None:
    assert (ROOT / "docs" / "evidence" / "broken-storages.md").read_text(encoding="utf-8") == page()
