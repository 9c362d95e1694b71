"""A node whose cluster has run ten thousand jobs: their ends are written into its state before it starts."""

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seatunnel_core.clock import wall_clock
from seatunnel_core.reporting.series import COLUMNS
from seatunnel_core.server.agent.node_config import node_config
from seatunnel_core.server.description import describe, shown_at_end
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.state.location import open_store
from seatunnel_core.server.state.records import EndedJob, JobState, PastAttempt
from seatunnel_core.server.submitted_job import SubmittedJob
from tests.server.nodes import Node, free_port, some_nodes

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
"""What a job may be called, and an error may say."""

TEXT = f"""
source {{ FakeSource {{ plugin_output = a, schema {{ fields {{ id = bigint }} }} }} }}
sink {{ LocalFile {{ path = {json.dumps(HOSTILE)} }} }}
"""

SHOWN = shown_at_end(
    describe(SubmittedJob(TEXT, "hocon")),
    HostedJob(
        job_id="",
        attempt=2,
        state=JobState.FAILED,
        pipelines=({"id": 1, "name": "a -> b", "phase": "failed", "rows": 7, "loads": {}, "failure": HOSTILE},),
        failures=({"pipeline": 1, "at": 1.7e9, "message": f"line 3 has {HOSTILE}", "code": "ROW-ERROR"},),
        series={
            "columns": list(COLUMNS),
            "points": [[1.7e12 + 5_000 * number, number / 4, 1, 0, 10, 1, 0] for number in range(30)],
            "pipelines": [],
        },
    ),
)
"""What the history keeps of a job that failed: its graph, failures and metrics over time."""

ENDS = (JobState.FINISHED, JobState.FINISHED, JobState.FAILED, JobState.CANCELED, JobState.SAVEPOINT_DONE)


def ended(number: int, at: float, *, plain: bool) -> EndedJob:
    """Return one of the jobs; of five, one failed. ``plain`` ones have no hostile names."""
    state = ENDS[number % len(ENDS)]
    failure = f"pipeline 1 (a -> b): line 3 has {HOSTILE}\nMore: seatunnel help ROW-ERROR"
    return EndedJob(
        job_id=f"ended-{number}",
        name=f"load {number} {HOSTILE if number % 7 == 0 and not plain else ''}",
        state=state,
        error=failure if state is JobState.FAILED else "",
        attempts=1,
        submitted_at=at - 30,
        ended_at=at,
        past=(
            PastAttempt(attempt=1, host="10.0.0.1:5801", started_at=at - 30, ended_at=at - 20, cause=f"lost {HOSTILE}"),
            PastAttempt(attempt=2, host="10.0.0.2:5801", started_at=at - 15, ended_at=at, cause=failure),
        )
        if state is JobState.FAILED
        else (),
        shown=SHOWN if state is JobState.FAILED else "",
        env={"job.mode": "BATCH"},
        metrics={"SourceReceivedCount": number, "SinkCommittedCount": number},
    )


@contextmanager
def a_node(folder: Path, *, jobs: int) -> Iterator[tuple[Node, str]]:
    """Give a node that runs, with so many ended jobs, and the address of its page."""
    with some_nodes(folder) as (node,):
        write_history(folder, jobs)
        port = free_port()
        node.start("--http-port", str(port))
        yield node, f"http://127.0.0.1:{port}"


def write_history(folder: Path, jobs: int, *, plain: bool = False) -> None:
    """Write the ends of so many jobs, a second apart, the last one a minute ago."""
    config = node_config(engine_file=folder / "config/seatunnel.yaml", environment={"HOME": str(folder / "home")})
    with contextlib.closing(open_store(config.engine, None, config.cluster)) as store:
        lease, now = store.claim(), wall_clock()
        records = (ended(number, now - 60 - (jobs - number), plain=plain) for number in range(jobs))
        lease.commit({record.key: record.to_bytes() for record in records})
        lease.release()
