"""What a checkpoint holds, in words; and what changed between two."""

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector import CheckpointContent, VertexContent, changes, content_of, survey_job
from seatunnel_core.inspector.content import split_text
from seatunnel_core.work.split import Split
from seatunnel_storage_api.errors import CheckpointCorruptedError
from seatunnel_storage_api.state import CheckpointRef
from tests.inspector.made import JOB, Made


def opened(made: Made, epoch: int, checkpoint_id: int) -> CheckpointContent:
    job = survey_job(made.storage, JOB)
    pipeline = job.pipeline(1)
    return content_of(made.storage, job, pipeline, pipeline.find(CheckpointRef(epoch, checkpoint_id)))


def vertices(content: CheckpointContent) -> tuple[VertexContent, VertexContent, VertexContent]:
    source, task, sink = content.vertices
    return source, task, sink


def test_a_source_reports_its_position_and_where_it_goes_on(made: Made) -> None:
    assert vertices(opened(made, 100_000, 1))[0].words == ("has not been enumerated yet",)
    assert vertices(opened(made, 200_000, 6))[0].words == (
        "has emitted 7 splits of 10, 3 left",
        "continues with split 7: /in/1.csv, bytes 700 to 800",
    )


def test_a_source_at_its_end(made: Made) -> None:
    made.store(200_000, 7, made.states(emitted=10), base=(100_000, 2))
    assert vertices(opened(made, 200_000, 7))[0].words == ("has emitted all of its 10 splits",)


def test_a_source_without_end_reports_what_waits_and_how_much_it_remembers(made: Made) -> None:
    states = made.states(emitted=12)
    waiting = tuple(Split(index=12 + at, weight_bytes=1, rows=1, body={"start": at, "rows": 5}) for at in range(2))
    source = evolve(states.sources["flights1"], waiting=waiting, memory={"seen": "abc"})
    made.store(200_000, 7, evolve(states, sources={"flights1": source}), base=(100_000, 2))
    found = vertices(opened(made, 200_000, 7))[0]
    assert found.words == (
        "has emitted 12 splits and is unbounded",
        "has a cursor of 15 bytes",
        "continues with split 12: 5 rows from number 0",
    )
    assert found.facts["waiting"] == 2


def test_an_enumeration_that_is_missing_is_said(made: Made) -> None:
    made.storage.discard(each for each in made.storage.holdings() if each.digest)
    assert "cannot be read, so the pipeline cannot be restored" in vertices(opened(made, 200_000, 6))[0].words[1]


def test_a_task_reports_what_is_in_flight(made: Made) -> None:
    _, task, _ = vertices(opened(made, 200_000, 6))
    assert task.words[1] == "2 units in flight"
    assert task.parts["unit 5"].words == "split 5 (/in/a.csv, bytes 500 to 600), about 5 rows; runs again"
    assert task.parts["unit 6"].words.endswith("about 5 rows; finished, waiting for earlier units")
    assert task.parts["unit 6"].details[0] == "for out1: unit 6 of flights1, epoch 200000: 5 rows, 100 bytes"
    assert task.facts["units_in_flight"] == 2


def test_a_sink_reports_what_waits_and_where_it_belongs(made: Made) -> None:
    staged = made.stage(200_000, 4)
    target = made.target / "day=1" / staged.name
    (part,) = vertices(opened(made, 200_000, 6))[2].parts.values()
    assert part.words == "unit 4 of flights1, epoch 200000: 5 rows, 100 bytes"
    assert part.details == (f"staged: {staged}, becomes {target}",)
    target.parent.mkdir()
    staged.rename(target)
    (part,) = vertices(opened(made, 200_000, 6))[2].parts.values()
    assert part.details == (f"published: {target}",)
    target.unlink()
    (part,) = vertices(opened(made, 200_000, 6))[2].parts.values()
    assert part.details[0].startswith(f"not found: neither {staged}")


def test_a_damaged_one_is_an_error(made: Made) -> None:
    made.damage(survey_job(made.storage, JOB).pipeline(1).find(CheckpointRef(200_000, 6)))
    with pytest.raises(CheckpointCorruptedError):
        opened(made, 200_000, 6)


def test_one_of_another_version_is_an_error(made: Made) -> None:
    state = made.state(200_000, 7, base=(100_000, 2))
    made.storage.store_checkpoint(evolve(state, states=b'{"format": 2}'))
    with pytest.raises(StateFormatError, match="version 2"):
        opened(made, 200_000, 7)


def test_one_that_is_removed_meanwhile(made: Made) -> None:
    job = survey_job(made.storage, JOB)
    info = job.pipeline(1).find(CheckpointRef(100_000, 1))
    made.storage.delete_checkpoint(JOB, 1, 1)
    with pytest.raises(UsageError, match="removed in the meantime"):
        content_of(made.storage, job, job.pipeline(1), info)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"path": "/a", "start": 0, "end": 2048}, "/a, bytes 0 to 2,048"),
        ({"path": "/a", "groups": [[0, 1], [1, 2]]}, "/a, 2 row groups"),
        ({"start": 1000, "rows": 1}, "1 row from number 1,000"),
        ({"table": "a", "split": {"start": 1000, "rows": 1}}, "table a: 1 row from number 1,000"),
        ({"table": "t"}, '{"table": "t"}'),
        ({"table": "t" * 200}, '{"table": "' + "t" * 108 + "…"),
    ],
)
def test_splits_in_words(body: dict[str, object], words: str) -> None:
    assert split_text(Split(index=0, weight_bytes=1, rows=1, body=body)) == words


def test_a_body_of_a_sink_that_is_not_known_is_shown_as_it_is(made: Made) -> None:
    states = made.states(emitted=1, uncommitted=[(200_000, 9)])
    sink = states.sinks["out1"]
    other = evolve(sink, uncommitted=(evolve(sink.uncommitted[0], body={"rows": "in a table"}),))
    made.store(200_000, 7, evolve(states, sinks={"out1": other}), base=(100_000, 2))
    (part,) = vertices(opened(made, 200_000, 7))[2].parts.values()
    assert part.details == ('{"rows": "in a table"}',)


# -- diff


def test_what_changed_is_shown_vertex_by_vertex(made: Made) -> None:
    found = [(change.vertex, change.words) for change in changes(opened(made, 200_000, 5), opened(made, 200_000, 6))]
    assert ("source flights1", "emitted: 5 -> 7 (+2)") in found
    assert ("task flights1", "+ unit 5: split 5 (/in/a.csv, bytes 500 to 600), about 5 rows; runs again") in found
    assert ("task flights1", "- unit 4: split 4 (/in/a.csv, bytes 400 to 500), about 5 rows; runs again") in found
    assert (
        "sink out1",
        "+ committable 0-200000-4: unit 4 of flights1, epoch 200000: 5 rows, 100 bytes",
    ) in found


def test_facts_that_are_no_numbers(made: Made) -> None:
    found = [change.words for change in changes(opened(made, 100_000, 1), opened(made, 100_000, 2))]
    assert "+ total: 10" in found


def test_a_copy_of_the_base_changes_nothing(made: Made) -> None:
    assert changes(opened(made, 100_000, 2), opened(made, 200_000, 3)) == ()


def test_vertices_that_come_and_go(made: Made) -> None:
    before = opened(made, 200_000, 5)
    after = CheckpointContent(info=before.info, live=True, states_bytes=0, vertices=before.vertices[:2])
    assert [change.words for change in changes(before, after)] == ["- the vertex"]
    assert [change.words for change in changes(after, before)] == ["+ a new vertex"]
