"""How far sources were read under one name, as it is kept and as a job of that name finds it."""

import json

import pytest

from seatunnel_core.errors import JobError, UsageError
from seatunnel_core.job.increment_state import IncrementState, SourceState, record_id
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.work.window import Cursor, Window

ORDERS = {"table": "orders", "column": "changed"}
OTHERS = {"table": "others", "column": "changed"}


def state(**sources: SourceState) -> IncrementState:
    return IncrementState(name="nightly", version=3, job_id="first", is_done=False, sources=sources)


def read(reads: dict[str, str] | None, value: str) -> SourceState:
    return SourceState(reads=reads, cursor=Cursor(value=value))


def test_a_source_goes_on_where_it_was_read_to() -> None:
    found = state(a=read(ORDERS, "7"), b=SourceState(reads=OTHERS, cursor=None))
    assert found.cursor_of("a", ORDERS) == Cursor(value="7")
    assert found.cursor_of("b", OTHERS) is None
    assert found.cursor_of("new", {"table": "c"}) is None


def test_a_source_with_another_name_is_known_by_what_it_reads() -> None:
    assert state(a=read(ORDERS, "7")).cursor_of("renamed", ORDERS) == Cursor(value="7")


def test_what_was_set_by_hand_belongs_to_whatever_the_source_reads() -> None:
    assert state(a=read(None, "7")).cursor_of("a", OTHERS) == Cursor(value="7")


def test_a_source_that_reads_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match=r"its table was 'orders' and is 'others'\. .* seatunnel state reset nightly"):
        state(a=read(ORDERS, "7")).cursor_of("a", OTHERS)


def test_after_a_job_each_of_its_sources_has_its_end_and_the_others_stay() -> None:
    before = state(a=read(ORDERS, "7"), b=read(OTHERS, "1"))
    after = before.after({"renamed": Window(reads=ORDERS, after=Cursor(value="7"), upto=Cursor(value="9"))})
    assert after.sources == {"renamed": read(ORDERS, "9"), "b": read(OTHERS, "1")}
    assert after.is_done
    nothing_new = before.after({"a": Window(reads=ORDERS, after=Cursor(value="7"))})
    assert nothing_new.sources == before.sources


@pytest.mark.parametrize(
    "kept",
    [
        IncrementState(name="nightly", version=3),
        state(),
        state(a=read(None, "7"), b=SourceState(reads=OTHERS, cursor=None)),
        state(a=SourceState(reads=ORDERS, cursor=Cursor(value="7", since="5", delivered=frozenset({"x", "y"})))),
    ],
)
def test_what_is_written_is_read_again(kept: IncrementState) -> None:
    assert IncrementState.from_bytes(kept.to_bytes(), 3) == kept
    assert kept.to_bytes() == IncrementState.from_bytes(kept.to_bytes(), 3).to_bytes()


def test_names_lie_apart() -> None:
    names = ["a b", "a_20b", "a-b", "ä", "nightly", "x" * 121]
    assert len({record_id(name) for name in names}) == len(names)
    for name in ("", "x" * 122):
        with pytest.raises(UsageError, match="set a shorter name"):
            record_id(name)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "is invalid"),
        (b'{"format": 2}', "a newer version of seatunnel-core wrote"),
        (b'{"format": 1, "sources": {"a": 1}, "state": "x", "done": true}', "is invalid"),
    ],
)
def test_what_is_no_state_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(JobError, match=said):
        IncrementState.from_bytes(body, 1)


def test_a_manifest_keeps_its_windows() -> None:
    window = Window(
        reads={"table": "a"},
        after=Cursor(value="1", since="0", delivered=frozenset({"x", "y"})),
        upto=Cursor(value="2", since="1", delivered=frozenset({"y", "z"})),
    )
    manifest = Manifest(job_name="n", windows={"a": window}, state_name="n")
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert json.loads(manifest.to_bytes())["format"] == 3, "an older version would read everything"
    assert window.fresh == {"z"}
    assert Manifest.from_bytes(Manifest(job_name="n").to_bytes()).windows == {}
