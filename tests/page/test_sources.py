"""The page of a job whose source reads a log: its snapshot and its lag."""

from pathlib import Path
from typing import Any

import pytest

from tests.page.browsing import chromium, watched
from tests.page.histories import a_node
from tests.server.nodes import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120), pytest.mark.xdist_group("browser")]


def answer_of(progress: dict[str, Any]) -> dict[str, Any]:
    """Return what a node says of a running job whose source has this progress."""
    vertices = [
        {"vertexId": 1, "type": "source", "vertexName": "Source[0]-Postgres-CDC", "name": "in"},
        {"vertexId": 2, "type": "sink", "vertexName": "Sink[0]-Jdbc", "name": "out"},
    ]
    edges = {"1": [{"inputVertexId": 1, "targetVertexId": 2}]}
    figures = {"id": 1, "name": "in -> out", "phase": "running", "rows": 5, "sources": {"in": progress}}
    return {
        "jobId": "7", "jobName": "copy", "jobStatus": "RUNNING", "createTime": "2026-11-29 00:00:00",
        "jobDag": {"vertexInfoMap": vertices, "pipelineEdges": edges}, "pipelines": [figures],
    }  # fmt: skip


def test_a_source_that_reads_a_log_shows_its_snapshot_and_its_lag(tmp_path: Path) -> None:
    """The answer of a running job, in the place of an ended one's."""
    listed = [
        {"name": "shop.a", "phase": "reading", "chunks_done": 7, "chunks": 9},
        {"name": "shop.b", "phase": "waiting", "chunks_done": 0, "chunks": None},
    ]
    progress: dict[str, Any] = {
        "snapshot": {"tables": 3, "tables_done": 1, "chunks_done": 20, "listed": listed},
        "position": "0/10", "end": "0/30", "oldest": "0/8", "lag_bytes": 2048, "lag_seconds": 75.0,
    }  # fmt: skip
    with (
        chromium() as browser,
        a_node(tmp_path / "node", jobs=1) as (running, origin),
        watched(browser, origin) as seen,
    ):
        until("the node leads", running.leads)
        seen.page.route("**/job-info/7", lambda route: route.fulfill(json=answer_of(progress)))
        seen.open("#/job/7")
        card = seen.page.get_by_role("region", name="Pipeline 1", exact=True)
        card.wait_for()
        assert "snapshot 1 of 3 tables" in (card.locator("svg[role=img]").get_attribute("aria-label") or "")
        words = " ".join(card.inner_text().split())
        for shown in ("Snapshot 1 of 3 tables", "Lag 2.0 KiB, 1 min 15 s", "Log position 0/10", "Log needed from 0/8"):
            assert shown in words
        tables = card.get_by_role("region", name="Tables of in").locator("tbody tr").all_inner_texts()
        assert [each.split() for each in tables] == [["shop.a", "reading", "7", "9"], ["shop.b", "waiting", "0", "–"]]
        progress["snapshot"] = {"tables": 3, "tables_done": 3, "chunks_done": 29, "listed": []}
        progress["lag_bytes"] = 0
        seen.open("#/job/7")
        card.wait_for()
        assert "up to date" in (card.locator("svg[role=img]").get_attribute("aria-label") or "")
        assert card.get_by_role("region", name="Tables of in").count() == 0
        seen.unharmed()
