"""The slots of a job that waits, by pipeline and one by one, as SeaTunnel lists task groups."""

from typing import Any

from attrs import evolve

from seatunnel_core.server.agent.pending import MOST_DIAGNOSED, pending_jobs
from seatunnel_core.server.description import describe
from seatunnel_core.server.requirements import requirements_of
from seatunnel_core.server.submitted_job import SubmittedJob
from tests.server.scheduling.views import JOB, view

TEXT = """
env { parallelism = 2 }
source {
  FakeSource { plugin_output = a, schema { fields { id = bigint } } }
  FakeSource { plugin_output = b, parallelism = 1, schema { fields { id = bigint } } }
  FakeSource { plugin_output = c, schema { fields { id = bigint } } }
}
sink { Console { plugin_input = [a, b] }, Console { plugin_input = c } }
"""


def waiting(text: str) -> dict[str, Any]:
    job = evolve(JOB, name="orders", text=text, format="hocon")
    read = SubmittedJob.of(job)
    seen = evolve(
        view(job), requirements={job.job_id: requirements_of(read)}, descriptions={job.job_id: describe(read)}
    )
    reasons = {job.job_id: "too few slots are free"}
    (found,) = pending_jobs(seen, [job], reasons, waits=True, job_id="", limit=9, pretty=False)["pendingJobs"]
    return dict(found)


def test_each_slot_is_listed_with_what_it_is_for() -> None:
    found = waiting(TEXT)
    counts = [
        (each["pipelineId"], each["totalTaskGroups"], each["allocatedTaskGroups"], each["lackingTaskGroups"])
        for each in found["pipelines"]
    ]
    assert counts == [(1, 5, 0, 5), (2, 3, 0, 3)]
    assert found["totalTaskGroups"] == found["lackingTaskGroups"] == 8
    assert [each["pipelineName"] for each in found["pipelines"]] == [
        "Job orders, Pipeline: [(1/2)]",
        "Job orders, Pipeline: [(2/2)]",
    ]
    listed = [each for pipeline in found["pipelines"] for each in pipeline["taskGroupDiagnostics"]]
    assert found["lackingTaskGroupDiagnostics"] == listed
    assert [(each["taskGroupLocation"]["taskGroupId"], each["taskFullName"]) for each in listed] == [
        (1, "pipeline-1 [Source[0]-FakeSource]-SplitEnumerator (1/1)"),
        (2, "pipeline-1 [Source[0]-FakeSource]-SourceTask (1/2)"),
        (3, "pipeline-1 [Source[0]-FakeSource]-SourceTask (2/2)"),
        (4, "pipeline-1 [Source[1]-FakeSource]-SplitEnumerator (1/1)"),
        (5, "pipeline-1 [Source[1]-FakeSource]-SourceTask (1/1)"),
        (1, "pipeline-2 [Source[2]-FakeSource]-SplitEnumerator (1/1)"),
        (2, "pipeline-2 [Source[2]-FakeSource]-SourceTask (1/2)"),
        (3, "pipeline-2 [Source[2]-FakeSource]-SourceTask (2/2)"),
    ]
    for each in listed:
        assert (each["allocated"], each["failureMessage"]) == (False, "too few slots are free")


def test_a_job_with_very_many_slots_is_counted_in_full_and_listed_in_part() -> None:
    found = waiting(TEXT.replace("parallelism = 2", "parallelism = 1000"))
    assert [each["totalTaskGroups"] for each in found["pipelines"]] == [1003, 1001]
    assert [len(each["taskGroupDiagnostics"]) for each in found["pipelines"]] == [MOST_DIAGNOSED] * 2


def test_a_job_that_cannot_be_read_has_no_pipelines() -> None:
    found = waiting("source {")
    assert (found["pipelines"], found["lackingTaskGroupDiagnostics"]) == ([], [])


def test_a_master_that_only_leads_is_no_worker() -> None:
    """The snapshot of a cluster without workers said ``workerCount: 1``."""
    for moves_rows, count in ((True, 1), (False, 0)):
        seen = view(JOB)
        members = {
            address: evolve(member, report=evolve(member.report, workers={}, moves_rows=moves_rows))
            for address, member in seen.members.items()
            if member.report is not None
        }
        found = pending_jobs(evolve(seen, members=members), [], {}, waits=True, job_id="", limit=9, pretty=False)
        assert (found["clusterSnapshot"]["workerCount"] > 0) is bool(count)
        assert len(found["clusterSnapshot"]["workers"]) == found["clusterSnapshot"]["workerCount"]
