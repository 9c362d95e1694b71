"""Deferred tasks whose jobs the real triggerer of Airflow follows, which is a process of its own, and may be killed."""

import contextlib
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.plugins.orchestrators.airflow_home import airflow_in, run_of
from tests.plugins.orchestrators.conftest import Rest
from tests.plugins.orchestrators.jobs import ROWS, copying
from tests.plugins.orchestrators.player import Player, environment_of_orchestrators
from tests.runtime.command import column
from tests.server.nodes import Node, until

pytestmark = [pytest.mark.orchestrators, pytest.mark.xdist_group("orchestrators")]

BEATS = {"AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1", "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "4"}
"""A triggerer that is killed is missed after four seconds, and not after half a minute."""


class Triggerer:
    """A process of ``airflow triggerer``, with its child that runs the triggers."""

    def __init__(self, folder: Path, environment: Mapping[str, str], name: str) -> None:
        self._folder = folder
        self._log = folder / f"triggerer-{name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [environment_of_orchestrators() / "bin/airflow", "triggerer", "--skip-serve-logs"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, **environment, **BEATS},
                start_new_session=True,
            )

    def log(self) -> str:
        """Return all that it has written, and what triggers have written into the logs of their tasks."""
        logs = (self._log, *self._folder.glob("logs/**/*.trigger.*"))
        return "\n".join(each.read_text("utf-8", "replace") for each in logs)

    def wait_for(self, words: str) -> None:
        """Wait until it has written some words."""
        until(f"the triggerer says {words!r}", lambda: words in self.log() or self._process.poll() is not None)
        assert words in self.log(), self.log()[-3000:]

    def kill(self) -> None:
        """Kill it with its child, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def home(rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Give Airflow's folder and its variables."""
    folder = tmp_path_factory.mktemp("airflow")
    return folder, airflow_in(folder, rest)


@pytest.fixture(scope="module")
def airflow(home: tuple[Path, dict[str, str]]) -> Iterator[Player]:
    player = Player("airflow_player.py", *home)
    player.run(connection=True)  # by then there is a database
    yield player
    player.close()


@contextlib.contextmanager
def triggerer(home: tuple[Path, dict[str, str]], name: str) -> Iterator[Triggerer]:
    """Give a triggerer that lives no longer than it is wanted."""
    found = Triggerer(*home, name)
    try:
        yield found
    finally:
        found.kill()


def test_a_deferred_task_is_followed_by_the_triggerer_and_by_another_one_when_that_is_killed(
    nodes: list[Node], airflow: Player, home: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    run, job_id = run_of("copy_deferred")
    with triggerer(home, "first") as first:
        airflow.begin(**run, triggerer=True, conf={"job": copying(tmp_path / "out", rows_per_second=2)})
        nodes[0].wait_rows(job_id)
        first.wait_for(f"SeaTunnel job {job_id}: RUNNING")
        first.kill()
        assert nodes[0].job(job_id)["jobStatus"] == "RUNNING", "the job does not know of who follows it"
        with triggerer(home, "second") as second:
            ended = airflow.result()
            assert ended["state"] == "success", airflow.said()[-3000:] + second.log()[-3000:]
            assert job_id in second.log()
    assert "running trigger in line" not in airflow.said()
    assert (ended["figures"]["job_id"], ended["figures"]["rows_committed"]) == (job_id, ROWS)
    assert column(tmp_path / "out", "id") == list(range(1, ROWS + 1))


def test_the_job_of_a_deferred_task_that_is_marked_is_cancelled_by_the_triggerer(
    nodes: list[Node], airflow: Player, home: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    run, job_id = run_of("copy_deferred")
    with triggerer(home, "marked") as following:
        airflow.begin(**run, triggerer=True, conf={"job": copying(tmp_path / "out", mode="STREAMING")})
        nodes[0].wait_rows(job_id, least=ROWS)
        following.wait_for(f"SeaTunnel job {job_id}: RUNNING")
        with contextlib.closing(sqlite3.connect(home[0] / "airflow.db", timeout=60)) as database, database:
            marked = database.execute("UPDATE task_instance SET state = 'failed' WHERE state = 'deferred'")
            assert marked.rowcount == 1
        assert nodes[0].wait_end(job_id)["jobStatus"] == "CANCELED", following.log()[-3000:]
        assert airflow.result()["state"] == "failed"
        following.wait_for("will be cancelled, because its task was killed")
