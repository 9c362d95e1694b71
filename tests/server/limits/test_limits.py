"""What many jobs cost a node, and what they leave behind. The programs beside this file print the whole figures."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live_folder import content_of, files_below
from tests.runtime.command import ids
from tests.server.limits import idle_jobs, short_jobs
from tests.server.limits.vitals import Vitals
from tests.server.nodes import Node, some_nodes, until
from tests.server.test_single_node import slow_job

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(1_800), pytest.mark.xdist_group("limits")]

MIB = 1 << 20


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A warm node."""
    with some_nodes(tmp_path_factory.mktemp("limits") / "node") as (node,):
        node.start()
        node.wait_ready()
        yield node


@pytest.mark.parametrize(("warm", "jobs"), [(20, 20), pytest.param(200, 800, marks=pytest.mark.long)])
def test_short_jobs_leave_a_node_as_it_was(
    node: Node, tmp_path: Path, figure: Callable[[str], None], warm: int, jobs: int
) -> None:
    """Memory of the agent and the host may grow by what the history of the jobs takes."""
    short_jobs.play(node, tmp_path, warm)
    before = short_jobs.settled(node)
    short_jobs.play(node, tmp_path, jobs)
    after = short_jobs.settled(node)
    for kind, held in after.items():
        figure(f"{kind} after {warm} jobs: {before[kind]}; after {jobs} more: {held}")
    for kind, more in (("agent", 4 + jobs / 150), ("host", 6 + jobs / 150), ("Python", 8), ("JVM", 120)):
        assert after[kind].resident - before[kind].resident < more * MIB, kind
    assert_no_more(before, after)
    size = sum(len(content_of(path)) for path in files_below(node.cluster.folder / "checkpoints/cluster"))
    assert size < MIB + 4_000 * (warm + jobs), "the log of the state is not compacted"


def assert_no_more(before: dict[str, Vitals], after: dict[str, Vitals]) -> None:
    """No process, thread or open file came with the jobs and stayed. Spark's own pools of threads have 100 each."""
    for kind in ("agent", "host", "Python"):
        assert after[kind].threads - before[kind].threads <= 4, kind
        assert after[kind].files - before[kind].files <= 4, kind
    assert after["JVM"].files - before["JVM"].files <= 8
    assert after["JVM"].threads < 320
    assert {kind: held.processes for kind, held in after.items()} == {
        kind: held.processes for kind, held in before.items()
    }


@pytest.mark.parametrize("jobs", [30, pytest.param(200, marks=pytest.mark.long)])
def test_jobs_that_are_submitted_at_once_all_end_and_rows_come_once(
    node: Node, tmp_path: Path, figure: Callable[[str], None], jobs: int
) -> None:
    names, began = short_jobs.names(jobs), time.monotonic()
    for job_id in names:
        node.submit(short_jobs.short_job(tmp_path / job_id), job_id)
    accepted_s = time.monotonic() - began
    states = Counter(node.wait_end(job_id)["jobStatus"] for job_id in names)
    figure(f"{jobs} jobs: accepted within {accepted_s:.1f} s, ended within {time.monotonic() - began:.1f} s")
    assert states == {"FINISHED": jobs}
    for job_id in names:
        assert ids(tmp_path / job_id) == list(range(1, short_jobs.ROWS + 1)), job_id


@pytest.mark.parametrize("jobs", [20, pytest.param(100, marks=pytest.mark.long)])
def test_idle_streaming_jobs_take_less_than_a_tenth_of_a_processor(
    node: Node, tmp_path: Path, figure: Callable[[str], None], jobs: int
) -> None:
    """All processes of the node together."""
    names = idle_jobs.begin(node, tmp_path, jobs)
    time.sleep(idle_jobs.SETTLE_S if jobs == 100 else 2)
    found = idle_jobs.shares(node, 60 if jobs == 100 else 5)
    idle_jobs.end(node, names)
    each = ", ".join(f"{kind} {share:.1%}" for kind, share in sorted(found.items()))
    figure(f"{jobs} idle jobs: {sum(found.values()):.1%} of a processor ({each})")
    assert sum(found.values()) < 0.1, each


@pytest.mark.parametrize("jobs", [20, pytest.param(300, marks=pytest.mark.long)])
def test_jobs_that_are_cancelled_at_once_are_cancelled_within_a_minute(
    node: Node, tmp_path: Path, figure: Callable[[str], None], jobs: int
) -> None:
    names = [f"cancelled-{number}-of-{jobs}" for number in range(jobs)]
    for job_id in names:
        node.submit(slow_job(tmp_path / job_id, rows_per_second=1), job_id)
    until("all jobs run", lambda: states_of(node) == {"RUNNING": jobs}, wait_s=600)
    began = time.monotonic()
    for job_id in names:
        assert node.ask("POST", "/stop-job", {"jobId": job_id})[0] == 200
    until("no job runs", lambda: states_of(node) == {}, wait_s=120)
    took_s = time.monotonic() - began
    figure(f"{jobs} jobs are cancelled after {took_s:.1f} s")
    assert Counter(node.job(job_id)["jobStatus"] for job_id in names) == {"CANCELED": jobs}
    assert took_s < 60


def states_of(node: Node) -> Counter[str] | None:
    """Return how many jobs that have not ended are in which state; ``None`` while nobody leads."""
    status, found = node.ask("GET", "/running-jobs")
    return Counter(job["jobStatus"] for job in found) if status == 200 else None
