"""What the kit's plugin tells of a run, and the page that is made of it."""

import json
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_storage_api.testing import CheckpointStorageConformance, table
from seatunnel_storage_api.testing.promises import PROMISES, promises_of, ranges, short_name
from seatunnel_storage_api.testing.report import (
    FAILED,
    NOT_PROMISED,
    NOT_RUN,
    NOT_SELECTED,
    PASSED,
    Observer,
    PromiseReport,
    Verdicts,
    read,
    summary,
)

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "promises.md"

SUITE = """
    import pytest
    from seatunnel_storage_api.testing.given import StorageFixtures

    @pytest.fixture(scope="class")
    def server(request):
        request.cls.backend_version = "tape 7"

    @pytest.mark.usefixtures("server")
    class TestTape(StorageFixtures):
        backend = "tape"
        factory = configuration = backdoor = None

        @pytest.fixture
        def no_drive(self):
            raise OSError("no drive")

        def test_p01_is_kept(self):
            pass

        def test_p01_p07_is_broken(self):
            assert 1 == 2, "one is two"

        def test_p03_has_no_start(self, no_drive):
            pass

        @pytest.mark.parametrize("reel", [1, 2])
        def test_p02_is_broken_twice(self, reel):
            pytest.fail(f"reel {reel} is torn")

        def test_p04_is_known(self):
            pytest.xfail("a gap")

        def test_p05_is_skipped(self):
            pytest.skip("no tape")

        @pytest.mark.skip(reason="no tape at all")
        def test_p05_is_skipped_before(self):
            pass

        def test_of_no_promise(self):
            pass

    def test_p06_outside_of_a_suite():
        pass
"""


@pytest.fixture
def tape(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(SUITE)
    pytester.makeini("[pytest]\naddopts = -p seatunnel_storage_api.testing.report -p no:cacheprovider")
    return pytester


def by_name(report: Path) -> dict[str, list[str]]:
    tests = json.loads(report.read_text())["tape"]["tests"]
    return {test.rpartition("::")[2]: said for test, said in tests.items()}


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "xdist"])
def test_a_run_is_reported_and_written_down(tape: pytest.Pytester, workers: list[str]) -> None:
    said = tape.runpytest_inprocess("--promise-report", "deep/report.json", *workers).stdout
    said.fnmatch_lines(
        [
            "*promises of checkpoint storages*",
            "tape: not promised 4; not run 5-6, 8-13",
            "  promise 1 (Durable when it returns): BROKEN by test_p01_p07_is_broken: AssertionError: one is two",
            "  promise 2 (Sealed): BROKEN by test_p02_is_broken_twice (2 cases): Failed: reel 1 is torn",
            "  promise 3 (Latest is the largest (epoch, id)): BROKEN by test_p03_has_no_start: OSError: no drive",
            "  promise 7 (Store is idempotent): BROKEN by *",
        ]
    )
    report = tape.path / "deep/report.json"
    assert json.loads(report.read_text())["tape"]["version"] == "tape 7"
    assert by_name(report) == {
        "test_p01_is_kept": [PASSED, ""],
        "test_p01_p07_is_broken": [FAILED, "AssertionError: one is two"],
        "test_p02_is_broken_twice[1]": [FAILED, "Failed: reel 1 is torn"],
        "test_p02_is_broken_twice[2]": [FAILED, "Failed: reel 2 is torn"],
        "test_p03_has_no_start": [FAILED, "OSError: no drive"],
        "test_p04_is_known": [NOT_PROMISED, "a gap"],
        "test_p05_is_skipped": [NOT_RUN, "no tape"],
        "test_p05_is_skipped_before": [NOT_RUN, "no tape at all"],
    }


def test_runs_add_up(tape: pytest.Pytester) -> None:
    """What a later run left out stays as it was; what it ran again is what it says now."""
    arguments = ["--promise-report", "report.json"]
    tape.runpytest_inprocess(*arguments, "-k", "kept or is_broken")
    outcomes = {name: outcome for name, (outcome, _) in by_name(tape.path / "report.json").items()}
    assert list(outcomes.values()) == [PASSED, FAILED, NOT_RUN, FAILED, FAILED, *[NOT_RUN] * 3]
    # Of another size: what Python has compiled of a file of the same size and second is taken for it.
    tape.makepyfile(SUITE.replace("assert 1 == 2", "assert 1 == 1 == 1"))
    tape.runpytest_inprocess(*arguments, "-k", "is_broken")
    assert {name: outcome for name, (outcome, _) in by_name(tape.path / "report.json").items()} == {
        **outcomes,
        "test_p01_p07_is_broken": PASSED,
    }


def test_a_run_without_a_suite_has_no_section(tape: pytest.Pytester) -> None:
    said = tape.runpytest_inprocess("-k", "outside")
    said.assert_outcomes(passed=1, deselected=9)
    assert "promises" not in said.stdout.str().replace("promise_report", "")


def test_what_a_worker_hands_over() -> None:
    """In the process of a worker nobody measures what its last hooks do."""
    worker: Any = SimpleNamespace(workeroutput={}, getoption=lambda name: Path("never"))
    Observer(worker).pytest_sessionfinish()
    assert worker.workeroutput == {"seatunnel_promises": {}}
    teller: Any = SimpleNamespace(workeroutput={}, getoption=lambda name: None)
    controller = Observer(teller)
    controller.pytest_testnodedown(SimpleNamespace(workeroutput={"seatunnel_promises": written()}))
    controller.pytest_testnodedown(SimpleNamespace())
    controller.pytest_sessionfinish()
    assert teller.workeroutput["seatunnel_promises"] == written()


def written() -> dict[str, Any]:
    return {"tape": {"version": "", "tests": {"a::test_p01_x": [PASSED, ""]}}}


def test_a_failure_is_never_taken_back_within_a_run() -> None:
    verdicts = Verdicts()
    for outcome in (PASSED, NOT_RUN):
        verdicts.note("test_p01_x", outcome)
    assert verdicts.of(1) == PASSED
    for outcome in (FAILED, PASSED, NOT_RUN):
        verdicts.note("test_p01_x", outcome, outcome)
    assert verdicts.tests == {"test_p01_x": (FAILED, FAILED)}


@pytest.mark.parametrize(
    ("test", "numbers"),
    [
        ("test_p07_a_manifest", (7,)),
        ("a.py::TestX::test_p03_p12_any[p04-b]", (3, 12)),
        ("test_closing", ()),
        ("test_p1_short", ()),
    ],
)
def test_the_name_of_a_test_names_its_promises(test: str, numbers: tuple[int, ...]) -> None:
    assert promises_of(test) == numbers


def test_promises_are_read_from_the_contract() -> None:
    assert list(PROMISES) == list(range(1, 14))
    assert short_name(12) == "Cheap"
    assert PROMISES[4].endswith("damage and failure raise.")
    assert ranges([3, 1, 2, 7]) == "1-3, 7"


def test_every_promise_has_a_test_and_every_test_a_promise() -> None:
    tests = [name for name in dir(CheckpointStorageConformance) if name.startswith("test_")]
    assert {number for test in tests for number in promises_of(test)} == set(PROMISES)
    assert [test for test in tests if not promises_of(test)] == []


# -- the page


def test_a_page_says_what_is_kept_what_is_broken_and_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tape = {"t::test_p01_x": [PASSED, ""], "t::test_p02_x": [FAILED, "a | b"], "t::test_p02_y": [PASSED, ""]}
    tape |= {"t::test_p04_x": [NOT_PROMISED, "a gap"]}
    disk = {"d::test_p01_x": [PASSED, ""], "d::test_p01_y": [NOT_RUN, "no disk"], "d::test_p02_x": [NOT_RUN, "no disk"]}
    (tmp_path / "tape.json").write_text(json.dumps({"tape": {"version": "7", "tests": tape}}))
    (tmp_path / "disk.json").write_text(json.dumps({"disk": {"version": "", "tests": disk}}))
    files = [str(tmp_path / name) for name in ("tape.json", "disk.json", "absent.json")]
    monkeypatch.setattr(sys, "argv", ["testing", *files])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("seatunnel_storage_api.testing", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    for line in (
        "| promise | disk | tape |",
        "| 1 | kept (1, 1 not run) | kept (1) |",
        "| 2 | not run | **BROKEN** (1 of 2) |",
        "| 3 | not run | not run |",
        "| 4 | not run | in part (0 of 1) |",
        "- tape, promise 4, not promised: `test_p04_x`: a gap",
        f"1. {PROMISES[1]}",
        "| disk | unknown | 1 | 0 | 0 | 2 |",
        "| tape | 7 | 2 | 1 | 1 | 0 |",
        "- disk: 2 tests did not run: no disk",
        "- tape, promise 2, failed: `test_p02_x`: a | b",
    ):
        assert line in lines


def test_a_page_leaves_out_a_storage_that_the_runs_were_not_about() -> None:
    report = PromiseReport()
    report.of("tape").note("t::test_p01_x", PASSED)
    report.of("disk").note("d::test_p01_x", NOT_RUN, NOT_SELECTED)
    assert "| promise | tape |" in table.page(report).splitlines()


def test_where_everything_passed_the_page_says_so() -> None:
    assert table.page(PromiseReport()).endswith("Everything passed.\n")
    assert summary("tape", Verdicts()) == []
    assert read(Path("/nowhere")) == PromiseReport()


def test_the_page_in_the_documentation_has_the_promises_of_the_code() -> None:
    head, _, rest = PAGE.read_text(encoding="utf-8").partition("## The promises")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in head.splitlines() if line[:1] == "|"]
    assert [row[0] for row in rows] == ["promise", "---", *map(str, PROMISES)]
    assert all(
        re.fullmatch(r"kept \(\d+(, \d+ not run)?\)|in part \(\d+ of \d+\)|not run", cell)
        for row in rows[2:]
        for cell in row[1:]
    )
    promises, _, tested = rest.partition("## What was tested")
    assert promises.strip().splitlines() == [f"{number}. {text}" for number, text in PROMISES.items()]
    named = [line.split("|")[1].strip() for line in tested.splitlines() if line.startswith("| ")]
    assert named == ["storage", "---", *rows[0][1:]]
