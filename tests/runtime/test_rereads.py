"""Requests to read a table again: answered when a checkpoint contains them, and never before."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.errors import UsageError
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.runtime.control_requests import answers as handlers
from seatunnel_core.runtime.pipeline_run import PipelineRun
from seatunnel_core.runtime.rereads import Reread, Rereads, request_reread


class Reader:
    """A source that can read the table ``a`` again, once."""

    def captured_tables(self) -> Sequence[str]:
        return ["a"]

    def reread(self, cursor: PollCursor, table: str) -> PollCursor:
        if table in cursor["again"]:
            raise UsageError(f"{table} is already being read again")
        return {"again": [*cursor["again"], table]}


def asked(rereads: Rereads, answers: list[str]) -> Reread:
    made = Reread("source", "a", answers.append)
    rereads.add(made)
    return made


def test_a_request_is_answered_by_the_first_checkpoint_after_it() -> None:
    rereads, answers = Rereads(), list[str]()
    rereads.triggered(1)
    asked(rereads, answers)
    rereads.triggered(2)
    (request,) = rereads.of("source")
    assert rereads.of("other") == ()
    assert request.added(Reader(), {"again": []}) == {"again": ["a"]}
    assert rereads.polled([request])
    assert rereads.of("source") == (), "the cursor has it"
    rereads.completed(1)
    rereads.completed(2)
    assert answers == [], "the barriers of both were sent before"
    rereads.triggered(3)
    rereads.triggered(4)
    rereads.completed(4)
    assert answers == [""], "the third was aborted, and the fourth contains more"
    rereads.completed(5)
    rereads.close("over")
    assert answers == [""]


def test_a_poll_that_fails_leaves_the_request_for_the_next_one() -> None:
    rereads, answers = Rereads(), list[str]()
    request = asked(rereads, answers)
    request.added(Reader(), {"again": []})
    assert rereads.of("source") == (request,)
    assert not rereads.polled([])
    assert request.added(Reader(), {"again": []}) == {"again": ["a"]}
    assert rereads.polled(rereads.of("source"))


def test_a_poll_without_a_cursor_leaves_the_request_for_the_next_one() -> None:
    rereads, answers = Rereads(), list[str]()
    request = asked(rereads, answers)
    assert not rereads.polled([request])
    assert (rereads.of("source"), answers) == ((request,), [])


def test_what_the_source_rejects_is_answered_at_once() -> None:
    rereads, answers = Rereads(), list[str]()
    request = asked(rereads, answers)
    assert request.added(Reader(), {"again": ["a"]}) == {"again": ["a"]}
    assert not rereads.polled([request])
    assert answers == ["a is already being read again"]


@pytest.mark.parametrize(("unsaved", "told"), [(False, ["stopping", ""]), (True, ["stopping", "stopping"])])
def test_a_stop_answers_what_no_poll_has_received(unsaved: bool, told: list[str]) -> None:
    rereads, answers = Rereads(), list[str]()
    request = asked(rereads, answers)
    request.added(Reader(), {"again": []})
    rereads.polled([request])
    late = asked(rereads, answers)
    rereads.triggered(7)
    rereads.close("stopping", unsaved=unsaved)
    late.added(Reader(), {"again": []})
    assert not rereads.polled([late]), "the state no longer changes"
    rereads.completed(7)
    assert answers == told
    asked(rereads, answers)
    assert answers[-1] == "stopping"


class Pipeline:
    """A pipeline with some sources."""

    def __init__(self, tables: Sequence[str] | None, *answers: str) -> None:
        self.rereadable, self._answers = tables, answers
        self.waiting: list[Callable[[str], None]] = []

    def reread(self, table: str, answer: Callable[[str, str], None]) -> int:
        if table not in (self.rereadable or ()):
            return 0
        for number, each in enumerate(self._answers):
            answer(f"source{number}", each)
        self.waiting.append(partial(answer, "last"))
        return len(self._answers) + 1


def result(table: str, *pipelines: Any) -> "Future[None]":
    found: Future[None] = Future()
    request_reread(pipelines, table, found)
    return found


def test_a_job_waits_for_all_sources_that_capture_the_table() -> None:
    one, other, third = Pipeline(["a"], ""), Pipeline(["a", "b"]), Pipeline(None)
    found = result("a", one, other, third)
    one.waiting[0]("")
    assert not found.done()
    other.waiting[0]("")
    assert found.result(0) is None
    one = Pipeline(["a"], "it waits for its restart")
    found = result("a", one)
    one.waiting[0]("")
    message = "the table a is read again only by the source last: it waits for its restart"
    with pytest.raises(UsageError, match=message):
        found.result(0)
    found = result("a", Pipeline(["a"], "no", "no"))
    assert not found.done()
    one = Pipeline(["a"])
    found = result("a", one)
    one.waiting[0]("no")
    with pytest.raises(UsageError, match="the table a is not read again: no"):
        found.result(0)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([None], "no source of the job can read a table again; MySQL-CDC"),
        ([[], None], "the job is still starting"),
        ([["b", "c"], None, ["d"]], "no source of the job captures the table a; they capture b, c, d"),
    ],
)
def test_a_table_that_no_source_captures_is_rejected(tables: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        result("a", *map(Pipeline, tables)).result(0)


def pipeline_run(*sinks: bool) -> PipelineRun:
    """A pipeline that has not started, with sinks that replace rows by key or not."""
    some: Any = [SimpleNamespace(replaces_rows=each) for each in sinks]
    reader: Any = Reader()
    planned = PlannedPipeline(
        id=1,
        sources=tuple(PlannedSource(name=name, ordinal=0, source=reader, parallelism=1) for name in ("in", "other")),
        transforms=(),
        sinks=tuple(
            PlannedSink(name=f"out{number}", ordinal=number, sink=each, inputs=("in",))
            for number, each in enumerate(some)
        ),
    )
    nothing: Any = None
    work: Any = SimpleNamespace(planned=planned)
    return PipelineRun(
        work=work, shared=nothing, protocol_of=nothing, restart_policy=nothing, owner=nothing, log=nothing
    )


def test_a_pipeline_that_does_not_run_answers_at_once() -> None:
    """The loop of a job that is closed would not run a later answer, and the caller would wait for ever."""
    found: Future[None] = Future()
    request_reread([pipeline_run(True)], "a", found)
    with pytest.raises(UsageError, match="not read again: the pipeline has ended, or is waiting to restart"):
        found.result(0)


def test_a_sink_that_does_not_replace_rows_is_rejected() -> None:
    answered: list[tuple[str, str]] = []
    assert pipeline_run(True, False).reread("a", lambda *answer: answered.append(answer)) == 2
    (source, rejection), (other, reason) = answered
    assert (source, other) == ("in", "other")
    assert rejection.startswith("the sink out1 does not replace rows by key")
    assert "sink" not in reason, "it does not feed that sink"


def test_the_wait_of_a_request_ends_with_its_limit() -> None:
    """Each waiting request occupies a thread of the node."""
    asked: list[tuple[str, float | None]] = []
    run: Any = SimpleNamespace(reread_table=lambda table, timeout: asked.append((table, timeout)))
    reread = handlers(run)["reread"]
    assert reread({"table": "a", "timeout_s": 65.0}) == {"table": "a"}
    reread({"table": "b"})
    assert asked == [("a", 65.0), ("b", None)]


def test_the_wait_for_a_savepoint_ends_with_its_limit() -> None:
    asked: list[float | None] = []

    def savepoint(name: str | None, *, stop: bool, drain: bool, timeout: float | None) -> JobSavepoint:
        asked.append(timeout)
        return JobSavepoint(name=name or "1", taken_at=1.0, stopped=stop or drain, pipelines={})

    run: Any = SimpleNamespace(savepoint=savepoint)
    request = {"name": "x", "stop": False, "drain": False}
    assert handlers(run)["savepoint"]({**request, "timeout_s": 65.0})["name"] == "x"
    handlers(run)["savepoint"](request)
    assert asked == [65.0, None]
