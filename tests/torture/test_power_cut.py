"""What is not synchronised is lost when the power goes: a few cuts in every test run, more with ``make torture``."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture import power_cut_of_state
from tests.torture.power_cut import SYNCS

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None,
    reason="the layer that loses what was not synchronised is for Linux, and made with gcc",
)

RUNS = int(os.environ.get("SEATUNNEL_RUNS", "30"))


def cut(*arguments: str, what: str = "power_cut") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"tests.torture.{what}", *arguments]
    return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("torture")
def test_a_job_whose_machine_lost_its_power_has_every_row_once() -> None:
    done = cut("--runs", "1", "--seed", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("every row once") == 1


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("torture")
def test_a_cluster_whose_machine_lost_its_power_knows_all_that_it_acknowledged() -> None:
    done = cut("--runs", "4", what="power_cut_of_state")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all that was acknowledged") == 4


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_many_clusters_whose_machine_lost_its_power_know_all_that_they_acknowledged() -> None:
    done = cut("--runs", str(20 * RUNS), what="power_cut_of_state")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_many_jobs_whose_machine_lost_its_power_have_every_row_once() -> None:
    done = cut("--runs", str(9 * RUNS))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.mutants
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("what", SYNCS)
def test_a_sync_that_is_left_out_is_missed(what: str, record_property: Callable[[str, object], None]) -> None:
    done = cut("--runs", "90", "--without", what)
    assert done.returncode == 1, f"nobody missed it:\n{done.stdout}{done.stderr}"
    runs = sum(": " in line for line in done.stdout.splitlines())
    record_property("mutant", ("R8", f"no sync of {what}", "cuts of the power", f"{runs} runs"))


@pytest.mark.mutants
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("what", power_cut_of_state.SYNCS)
def test_a_sync_of_the_state_that_is_left_out_is_missed(
    what: str, record_property: Callable[[str, object], None]
) -> None:
    done = cut("--runs", "60", "--without", what, what="power_cut_of_state")
    assert done.returncode == 1, f"nobody missed it:\n{done.stdout}{done.stderr}"
    runs = sum(": " in line for line in done.stdout.splitlines())
    record_property("mutant", ("cluster", f"no sync of {what}", "cuts of the power", f"{runs} runs"))
