import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import JobError
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.job.pipeline import PipelineShape, connected
from tests.job.test_graph import graph, sink, source, transform

EMPTY = Manifest(job_name="job")


def tables(*names: str) -> tuple[PipelineShape, ...]:
    """A job that moves each of these tables with a source and a sink of its own."""
    nodes = [part for name in names for part in (source(name), sink([name]))]
    return connected(graph(*nodes))


def assignments(manifest: Manifest) -> dict[str, tuple[int, int]]:
    return {name: (seat.pipeline, seat.ordinal) for name, seat in manifest.seats.items()}


def test_the_first_run_numbers_from_one() -> None:
    manifest, numbers = EMPTY.extended(tables("a", "b"))
    assert numbers == (1, 2)
    assert assignments(manifest) == {"a": (1, 0), "Write-sink-a": (1, 0), "b": (2, 0), "Write-sink-b": (2, 0)}
    assert manifest.seats["a"] == Seat(1, Kind.SOURCE, 0)


def test_adding_a_table_does_not_renumber_the_others() -> None:
    manifest, _ = EMPTY.extended(tables("b", "c"))
    more, numbers = manifest.extended(tables("a", "b", "c"))
    assert numbers == (3, 1, 2)
    assert assignments(manifest).items() <= assignments(more).items()


def test_the_number_of_a_dropped_table_is_never_given_again() -> None:
    manifest, _ = EMPTY.extended(tables("a", "b"))
    fewer, numbers = manifest.extended(tables("a"))
    assert (numbers, fewer.dropped(tables("a"))) == ((1,), ("Write-sink-b", "b"))
    _, again = fewer.extended(tables("a", "new"))
    assert again == (1, 3)


def test_ordinals_are_counted_by_kind_and_never_given_again() -> None:
    shape = connected(graph(source("a"), source("b"), transform(["a", "b"], "t"), sink(["t"], name="x")))
    manifest, _ = EMPTY.extended(shape)
    assert assignments(manifest) == {"a": (1, 0), "b": (1, 1), "x": (1, 0)}
    changed, numbers = manifest.extended(
        connected(graph(source("c"), source("a"), sink(["a", "c"], name="y"), sink(["a"], name="x")))
    )
    assert numbers == (1,)
    assert assignments(changed) == {"a": (1, 0), "b": (1, 1), "c": (1, 2), "x": (1, 0), "y": (1, 1)}


def test_merging_pipelines_is_refused() -> None:
    manifest, _ = EMPTY.extended(tables("a", "b"))
    with pytest.raises(JobError, match=r"'a' \(pipeline 1\) and 'b' \(pipeline 2\).*A restore cannot merge pipelines"):
        manifest.extended(connected(graph(source("a"), source("b"), sink(["a", "b"]))))


def test_splitting_a_pipeline_is_refused() -> None:
    manifest, _ = EMPTY.extended(connected(graph(source("a"), source("b"), sink(["a", "b"], name="x"))))
    with pytest.raises(
        JobError, match="pipeline 1 of the stored job, which contains 'b', was split into two pipelines"
    ):
        manifest.extended(tables("a", "b"))


def test_a_vertex_keeps_its_kind() -> None:
    manifest, _ = EMPTY.extended(connected(graph(source("a"), sink(["a"], name="x"))))
    with pytest.raises(JobError, match="'x' was a sink in the stored job and is now a source"):
        manifest.extended(connected(graph(source("x"), sink(["x"], name="y"))))


def test_the_folders_of_a_sink_are_remembered_the_newest_last() -> None:
    manifest, _ = EMPTY.extended(tables("a"))
    for folder in ("/one", "/two", "/one"):
        manifest = manifest.placed({"Write-sink-a": folder})
    read = Manifest.from_bytes(manifest.to_bytes())
    assert read.seats["Write-sink-a"].targets == ("/two", "/one")
    assert read.seats["a"].targets == ()


def test_the_end_of_a_job_is_recorded() -> None:
    manifest, _ = EMPTY.extended(tables("a"))
    closed = manifest.closed({"rows": 5})
    assert Manifest.from_bytes(closed.to_bytes()) == closed
    assert closed.ended == {"rows": 5}
    assert manifest.ended is None


@pytest.mark.parametrize("submission", [None, "", "s1"])
def test_the_submission_of_a_job_is_recorded(submission: str | None) -> None:
    manifest = Manifest(job_name="n", submission=submission)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert json.loads(manifest.to_bytes())["format"] == 1, "earlier versions can read it"


@pytest.mark.parametrize(
    ("stored", "asking", "is_of"),
    [("s1", "s1", True), ("s1", "s2", False), ("", "s1", False), (None, "s1", True), ("s1", "", True)],
)
def test_a_job_is_of_the_submission_that_created_it(stored: str | None, asking: str, is_of: bool) -> None:
    assert Manifest(job_name="n", submission=stored).is_of(asking) is is_of


_NAMES = st.text(alphabet="abcdé世", min_size=1, max_size=3)


@given(st.lists(st.lists(_NAMES, unique=True, max_size=6), min_size=1, max_size=5), st.text(max_size=5))
def test_numbers_never_change_over_the_life_of_a_job(runs: list[list[str]], name: str) -> None:
    """Tables come and go from run to run; whatever was seated keeps its place, and no place is given twice."""
    manifest = Manifest(job_name=name)
    for names in runs:
        shapes = tables(*names)
        after, numbers = manifest.extended(shapes)
        assert assignments(manifest).items() <= assignments(after).items()
        assert len(set(numbers)) == len(numbers)
        for shape, number in zip(shapes, numbers, strict=True):
            assert {after.seats[vertex.name].pipeline for vertex in shape.vertices} == {number}
        places = [(seat.pipeline, seat.kind, seat.ordinal) for seat in after.seats.values()]
        assert len(set(places)) == len(places)
        manifest = Manifest.from_bytes(after.to_bytes())
        assert manifest == after


def written(**members: Any) -> bytes:
    return json.dumps({"format": 1, "job_name": "x", "vertices": {}, "ended": None} | members).encode()


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (b"", "the stored manifest of the job is invalid"),
        (b"\xff", "the stored manifest of the job is invalid"),
        (b"[]", "is invalid"),
        (b"{}", "is invalid"),
        (b'{"format": 1, "job_name": "x", "vertices": {"a": {}}, "ended": null}', "is invalid"),
        (json.dumps({"format": 4}).encode(), "has format 4, but this version reads formats up to 3"),
        (b"[" * 100_000, "is invalid"),
        (written(vertices={"a": {"pipeline": 0, "kind": "source", "ordinal": 0}}), "'pipeline' must be a whole number"),
        (written(vertices={"a": {"pipeline": 1, "kind": "transform", "ordinal": 0}}), "not to 'transform'"),
        (written(vertices={name: {"pipeline": 1, "kind": "sink", "ordinal": 0} for name in "ab"}), "same assignment"),
        (written(job_name=7), "'job_name' must be a string, not 7"),
        (written(ended=[]), "'ended' must be a block, not a list"),
        (b'{"format": Infinity}', "Infinity is not a JSON value"),
    ],
)
def test_what_is_no_manifest_is_refused(stored: Any, expected: str) -> None:
    with pytest.raises(JobError, match=expected):
        Manifest.from_bytes(stored)
