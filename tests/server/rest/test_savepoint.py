"""A savepoint of a job in a cluster that goes on: the node whose host has the job is asked, through any node."""

from pathlib import Path

import pytest

from tests.server.nodes import some_nodes, until

STREAM = """
env { job.mode = STREAMING, checkpoint.interval = 500 }
source { FakeSource { plugin_output = f, row.num = 100, split.num = 5, split.read-interval = 500
  schema { fields { id = bigint } } } }
sink { Console { plugin_input = f } }
"""


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(400)
def test_a_savepoint_is_taken_of_a_job_that_goes_on(tmp_path: Path) -> None:
    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        assert node.ask("POST", "/savepoint", {"jobId": "1"})[1]["code"] == "not_running"
        node.submit(STREAM, "1")
        node.wait_rows("1")
        status, taken = node.ask("POST", "/savepoint", {"jobId": "1", "name": "before"})
        assert (status, taken["jobId"], taken["name"], set(taken["pipelines"])) == (200, "1", "before", {"1"}), taken
        status, refused = node.ask("POST", "/savepoint", {"jobId": "1", "name": "before"})
        assert (status, "before" in refused["message"]) == (400, True)
        assert node.job("1")["jobStatus"] == "RUNNING"
        (pipeline,) = node.ask("GET", "/jobs/checkpoints/1")[1]["pipelines"]
        assert pipeline["latestSavepoint"]["checkpoint"] == taken["pipelines"]["1"]
        assert pipeline["counts"]["completed"] >= 2
        history = node.ask("GET", "/jobs/checkpoints/history/1?limit=200&status=COMPLETED")[1]
        took = [each["checkpoint"]["durationMillis"] for each in history]
        assert len([each for each in took if each is not None]) >= 2, "the host tells how long each took"
        node.ask("POST", "/stop-job", {"jobId": "1"})
        assert until("it ends", lambda: node.job("1").get("finishTime"))
