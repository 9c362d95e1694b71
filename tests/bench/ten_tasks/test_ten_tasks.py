"""The programs of ``examples/beside-dlt`` work: each moves a few rows, and each row is in the target once."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.ten_tasks.judging import judge
from tests.bench.ten_tasks.page import PAGE
from tests.bench.ten_tasks.place import DLT, OURS, Servers
from tests.bench.ten_tasks.play import Kill, Play
from tests.bench.ten_tasks.task import PROGRAMS
from tests.bench.ten_tasks.tasks import TASKS
from tests.servers.postgres import Postgres


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    postgres = Postgres()
    postgres.start()
    servers = Servers(postgres=postgres)
    try:
        yield servers
    finally:
        servers.stop()


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """One for all tests of the module: it has an environment with dlt."""
    with tempfile.TemporaryDirectory(prefix="ten-tasks-") as folder:
        yield Path(folder)


IN_CI = ("nested-json-to-postgres", "nightly-increment", "schema-growth", "small-tables")
"""Other tests of the connectors do what the other tasks do."""


def test_each_task_has_its_programs_and_no_program_is_left_over() -> None:
    programs = {task.program(system) for task in TASKS.values() for system in (OURS, DLT)}
    assert programs == {each for each in PROGRAMS.iterdir() if each.suffix in (".conf", ".py")}


def test_the_page_counts_the_lines_of_each_program() -> None:
    page = PAGE.read_text("utf-8").splitlines()
    for name, task in TASKS.items():
        (row,) = (line for line in page if line.startswith(f"| `{name}` |") and line.count("|") == 5)
        assert row.endswith(f" | {task.lines(OURS)} | {task.lines(DLT)} |"), row


def test_what_is_wrong_with_rows_is_counted() -> None:
    wanted = "SELECT * FROM (VALUES (1, NULL), (2, 'b'), (3, 'c')) rows(id, name)"
    there = "SELECT * FROM (VALUES (1, NULL), (1, NULL), (2, 'x')) rows(id, name)"
    found = judge(wanted, there)
    assert (found.lost, found.doubled, found.other) == (2, 1, 1)
    assert judge(wanted, wanted).is_right
    assert judge(wanted, "").lost == 3


@pytest.mark.spark
@pytest.mark.servers
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_CI else pytest.mark.twin) for name in TASKS]
)
def test_our_job_moves_each_row_once(name: str, data: Path, servers: Servers) -> None:
    turn = Play.of(TASKS[name], data, servers, short=True).turn(OURS)
    assert turn.judgement.is_right, turn


@pytest.mark.spark
@pytest.mark.servers
def test_a_job_that_is_killed_moves_each_row_once(data: Path, servers: Servers) -> None:
    play = Play.of(TASKS["kill-in-the-middle"], data, servers, short=True)
    turn = play.turn(OURS, Kill(printed=" -r "))
    assert turn.judgement.is_right, turn
    assert turn.runs == 2


@pytest.mark.install
@pytest.mark.servers
@pytest.mark.twin
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TASKS)
def test_the_script_of_dlt_moves_each_row_once(name: str, data: Path, servers: Servers) -> None:
    turn = Play.of(TASKS[name], data, servers, short=True).turn(DLT)
    assert turn.judgement.is_right, turn
