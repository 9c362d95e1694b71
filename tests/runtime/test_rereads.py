"""Requests to read a table again: answered when a checkpoint contains them, and never before."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.errors import UsageError
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

    def reread(self, table: str, answer: Callable[[str], None]) -> int:
        if table not in (self.rereadable or ()):
            return 0
        for each in self._answers:
            answer(each)
        self.waiting.append(answer)
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
    with pytest.raises(UsageError, match="the table a is not read again: it waits for its restart"):
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
