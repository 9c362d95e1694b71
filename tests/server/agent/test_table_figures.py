"""Figures by table: of each source and sink that gives or takes one table, and of none where that is not known."""

from typing import Any

from seatunnel_core.server.agent.table_figures import by_table
from seatunnel_core.server.description import describe
from seatunnel_core.server.state.records import JobRecord
from seatunnel_core.server.submitted_job import SubmittedJob

JOB = """
source {
  FakeSource { plugin_output = left, schema { fields { id = bigint } } }
  FakeSource { plugin_output = right, schema { fields { id = bigint } } }
}
sink {
  Console { plugin_input = left, name = one }
  Console { plugin_input = left, name = two }
  Console { plugin_input = [left, right], name = both }
}
"""


def moved(**figures: int) -> dict[str, Any]:
    return {"rows": 0, "bytes": 0, "written": 0, "bytes_written": 0, "committed": 0, "bytes_committed": 0, **figures}


def tables(text: str, *pipelines: dict[str, Any]) -> dict[str, dict[str, str]]:
    record = JobRecord(job_id="1", name="", text=text, format="hocon", submitted_at=1.0, since=1.0)
    return by_table(describe(SubmittedJob.of(record)), pipelines)


def test_several_sources_and_sinks_have_the_figures_of_their_tables() -> None:
    vertices = {
        "left": moved(rows=5, bytes=50),
        "right": moved(rows=7, bytes=70),
        "one": moved(written=5, committed=3),
        "two": moved(written=4, committed=4),
        "both": moved(written=12),
    }
    found = tables(JOB, {"id": 1, **moved(rows=12, written=21), "vertices": vertices})
    assert found["TableSourceReceivedCount"] == {"left": "5", "right": "7"}
    assert found["TableSourceReceivedBytes"] == {"left": "50", "right": "70"}
    assert found["TableSinkWriteCount"] == {"left": "9"}, "of two sinks; who knows what the third took of it"
    assert found["TableSinkCommittedCount"] == {"left": "7"}


def test_the_only_source_and_the_only_sink_have_the_figures_of_the_pipeline() -> None:
    text = "source { FakeSource { plugin_output = t, schema { fields { id = bigint } } } }\nsink { Console {} }"
    found = tables(text, {"id": 1, **moved(rows=5, written=4, committed=3), "vertices": {}})
    assert found["TableSourceReceivedCount"] == {"t": "5"}
    assert (found["TableSinkWriteCount"], found["TableSinkCommittedCount"]) == ({"t": "4"}, {"t": "3"})


def test_a_pipeline_that_was_not_measured_has_none() -> None:
    for pipelines in ([], [{"id": 1, **moved(rows=12, written=21)}]):
        assert not any(tables(JOB, *pipelines).values()), "measured by a version that did not count by source and sink"
