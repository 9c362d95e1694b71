"""Which of a job's sinks act on a target that they share, in one process and after a restart."""

import threading
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.checkpoint.decisions.base import Base, RestoreRequest, choose_base
from seatunnel_core.checkpoint.decisions.restored import restored
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import SinkState
from seatunnel_core.claiming.claim import Claim, claim_again
from seatunnel_core.connector_api.sink import SaveMode, Sink, SinkContext
from seatunnel_core.errors import JobError, SinkError, UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.settings import topology_of
from seatunnel_core.runtime.save_modes import SaveModes
from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.state import CheckpointRef
from tests.claiming.tables import FIRST, JOB, Played, at, meanwhile
from tests.claiming.test_bound import Case, file
from tests.claiming.test_restoration import Damaged

DROP = "data_save_mode = DROP_DATA"
PLACE = SinkContext(job_id="j", pipeline_id=1, sink_ordinal=0, epoch=1)


class Emptying(Sink):
    """Notes that it was asked to."""

    declared = ()
    identifier = "Emptying"

    def __init__(self, target: str, acts: Any = lambda: None, later: bool = False) -> None:
        self.acted, self._target, self._acts = 0, target, acts
        self.defers_save_mode = later  # type: ignore[misc]

    @property
    def save_mode(self) -> SaveMode:
        return SaveMode(target=self._target, does="DROP_DATA")

    def apply_save_mode(self, context: SinkContext) -> None:
        self._acts()
        self.acted += 1

    def open_writer(self, *_: Any) -> Any: ...

    def commit(self, *_: Any, may_be_committed: bool) -> None: ...


def test_one_of_the_sinks_that_share_a_target_acts() -> None:
    """Two pipelines into one folder: the second one removed what the first had published, without any kill."""
    modes = SaveModes()
    sinks = [Emptying("a"), Emptying("a"), Emptying("b")]
    for sink in (*sinks, *sinks):
        modes.apply(sink, PLACE)
    assert [sink.acted for sink in sinks] == [1, 0, 1]


def test_who_comes_meanwhile_waits_until_the_target_is_empty() -> None:
    modes, began, may_end = SaveModes(), threading.Event(), threading.Event()

    def slow() -> None:
        began.set()
        assert may_end.wait(60)

    first, second = Emptying("a", slow), Emptying("a")
    threads = [threading.Thread(target=modes.apply, args=(sink, PLACE)) for sink in (first, second)]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    threads[1].join(0.05)
    assert threads[1].is_alive(), "it would go on and publish"
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert (first.acted, second.acted) == (1, 0)


def test_one_that_fails_has_not_acted() -> None:
    def fail() -> None:
        raise SinkError("no")

    modes, second = SaveModes(), Emptying("a")
    with pytest.raises(SinkError):
        modes.apply(Emptying("a", fail), PLACE)
    modes.apply(second, PLACE)
    assert second.acted == 1


def test_a_sink_that_learns_its_tables_later_is_reported_in_any_case() -> None:
    modes, sinks = SaveModes(), [Emptying("a", later=True), Emptying("a", later=True)]
    for sink in sinks:
        modes.apply(sink, PLACE)
    assert [sink.acted for sink in sinks] == [1, 1]


def test_sinks_of_one_target_say_the_same(tmp_path: Path) -> None:
    """One that appends would lose what it published to one that empties, or not, as they come."""
    played = Case(tmp_path)
    plan = played.planner(played.sinks(file("/data/x", more=DROP), file("/data/x", "second")))
    with pytest.raises(JobError, match="'out' and 'second' write to the same target, /data/x, with DROP_DATA and APP"):
        plan(None)
    played.planner(played.sinks(file("/data/x", more=DROP), file("/data/y", "second")))(None)
    played.planner(played.sinks(file("/data/x", more=DROP), file("/data/x", "second", DROP)))(None)


def shared(played: Played, *tables: str) -> str:
    text = played.text(*tables)
    for table in tables:
        text = text.replace(f'/out/{table}", file_format_type = csv', f'/out", file_format_type = csv, {DROP}')
    return text


def requests_of(played: Played, restore: Restore, text: str) -> dict[int, RestoreRequest]:
    claim = claim_again(played.storage, JOB, played.planner(text), restore)
    assert isinstance(claim, Claim)
    return dict(claim.restores)


def begin(played: Played, text: str, pipelines: int) -> None:
    from seatunnel_core.claiming.claim import claim_new

    claim_new(played.storage, JOB, played.planner(text))
    for number in range(1, 1 + pipelines):
        played.storage.acquire_epoch(JOB, number, FIRST)


def test_a_table_that_is_added_finds_the_target_of_the_job_as_it_is(tmp_path: Path) -> None:
    """Its save mode removed what the job had published."""
    played = Played(tmp_path)
    begin(played, shared(played, "a"), 1)
    played.store(1, 3)
    found = requests_of(played, Restore(), shared(played, "a", "b"))
    assert (found[1].saved, found[2].saved) == ({"a_out"}, {"b_out"})


def test_a_pipeline_that_was_killed_before_its_first_checkpoint_does_not_empty_what_another_published(
    tmp_path: Path,
) -> None:
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    played.store(1, 3)
    assert requests_of(played, Restore(), shared(played, "a", "b"))[2].saved == {"b_out"}


def test_while_no_pipeline_has_a_checkpoint_all_may_act(tmp_path: Path) -> None:
    """Nothing is published before the one that says that it is done."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    found = requests_of(played, Restore(), shared(played, "a", "b"))
    assert [found[number].saved for number in (1, 2)] == [frozenset(), frozenset()]


def test_a_sink_that_is_renamed_does_not_act_on_what_it_published(tmp_path: Path) -> None:
    said = Case(tmp_path)
    said.began(file("/data/x", "before", DROP))
    said.stored(1, ["before"])
    restore = Restore(allow_non_restored_state=True)
    assert said.again(restore, file("/data/x", "after", DROP)).restores[1].saved == {"after"}


@pytest.mark.parametrize("damaged", [False, True])
def test_one_that_goes_back_behind_its_save_mode_does_not_act_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    """Where the newest checkpoint cannot be read, nobody knows whether it has acted: then it has."""
    said = Case(tmp_path)
    said.began(file("/data/x", more=DROP))
    with monkeypatch.context() as before:
        before.setattr(
            "tests.claiming.test_bound.SinkState", lambda **state: SinkState(**{**state, "save_mode_pending": True})
        )
        said.stored(1, ["out"])
    said.stored(2, ["out"])
    if damaged:
        said.storage = Damaged(said.storage, 2)  # type: ignore[assignment]
    assert said.again(at("1", accept_duplicates=True), file("/data/x", more=DROP)).restores[1].saved == {"out"}
    assert said.again(Restore(), file("/data/x", more=DROP)).restores[1].ref == CheckpointRef(100_000, 1)


def test_a_sink_that_takes_over_the_path_of_another_one_does_not_empty_it(tmp_path: Path) -> None:
    """Two paths were swapped: the new table's sink emptied the folder where the other one had published until then."""
    said = Case(tmp_path)
    said.began(file("/data/x", "one", DROP))
    said.stored(1, ["one"])
    claim = said.again(Restore(), file("/data/y", "one", DROP), file("/data/x", "new", DROP))
    assert claim.restores[1].saved == {"new"}


def test_one_that_came_behind_the_checkpoint_to_go_back_to_does_not_act_again(tmp_path: Path) -> None:
    """Its sink is not in that checkpoint, so its save mode emptied what it had published since."""
    said = Case(tmp_path)
    said.began(file("/data/x", more=DROP))
    said.stored(1, ["out"])
    both = (file("/data/x", more=DROP), file("/data/y", "later", DROP))
    said.again(Restore(), *both)
    said.stored(2, ["out", "later"])
    assert "later" in said.again(at("1", accept_duplicates=True), *both).restores[1].saved


def test_what_cannot_be_read_of_a_pipeline_says_nothing_of_its_save_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that still ran had pruned the checkpoint that was just listed, and published into the same target; the
    other pipeline emptied that."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    played.store(1, 3)
    monkeypatch.setattr(played.storage, "load", lambda info: None)
    assert requests_of(played, Restore(), shared(played, "a", "b"))[2].saved == {"b_out"}


def test_a_sink_that_is_added_to_a_pipeline_whose_state_cannot_be_read_does_not_act(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine before had pruned the checkpoint that was just listed. It was clear that the target is written to, but
    the sink that no state names was taken for one that has acted."""
    said = Case(tmp_path)
    said.began(file("/data/x", "one", DROP))
    said.stored(1, ["one"])
    monkeypatch.setattr(said.storage, "load", lambda info: None)
    both = (file("/data/x", "one", DROP), file("/data/x", "new", DROP))
    assert "new" in said.again(Restore(), *both).restores[1].saved


# -- while a process decides, the one before it works


@pytest.mark.parametrize("is_late", [False, True], ids=["before the claim", "after it"])
def test_what_a_process_publishes_while_the_next_one_claims_the_job_is_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """The next one had read that no pipeline had published, and was suspended. Its other pipeline emptied the target,
    and no checkpoint has the rows that were in it."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    publish = lambda: played.store(1, 3)  # noqa: E731
    meanwhile(played, monkeypatch, **{"after" if is_late else "before": publish})
    found = requests_of(played, Restore(), shared(played, "a", "b"))
    assert "b_out" in found[2].saved


def test_after_a_process_has_decided_the_one_before_it_completes_no_checkpoint(tmp_path: Path) -> None:
    """So what it has not published by then, it never publishes, in any pipeline with this target."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    found = requests_of(played, Restore(), shared(played, "a", "b"))
    assert [found[number].saved for number in (1, 2)] == [frozenset(), frozenset()]
    for number, table in ((1, "a"), (2, "b")):
        with pytest.raises(StaleEpochError):
            played.store(1, 3, table=table, pipeline=number)
    played.storage.acquire_epoch(JOB, 1, 2 * FIRST, below=3 * FIRST)  # its own pipelines do


def test_a_pipeline_that_was_dropped_publishes_nothing_more_either(tmp_path: Path) -> None:
    """Its process may still run, although the next one does not start this pipeline."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    drop = Restore(allow_non_restored_state=True)
    pending = SinkState(save_mode_pending=True)
    with pytest.MonkeyPatch.context() as first:
        first.setattr("tests.claiming.tables.SinkState", lambda **_: pending)
        played.store(1, 0)
    assert requests_of(played, drop, shared(played, "b"))[2].saved == frozenset()
    with pytest.raises(StaleEpochError):
        played.store(2, 3)


def test_a_pipeline_that_goes_back_does_not_act_on_what_was_published_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint to restore, then the latest, was from before the save mode; the other pipeline shares the
    target."""
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    with monkeypatch.context() as first:
        first.setattr("tests.claiming.tables.SinkState", lambda **_: SinkState(save_mode_pending=True))
        played.store(1, 0)

    def publish() -> None:
        played.store(2, 3)
        played.store(1, 3, table="b", pipeline=2)

    meanwhile(played, monkeypatch, before=publish)
    found = requests_of(played, at("1:1", accept_duplicates=True), shared(played, "a", "b"))
    assert (found[1].saved, found[2].saved) == ({"a_out"}, {"b_out"})


def test_one_that_decides_too_late_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(tmp_path)
    begin(played, shared(played, "a", "b"), 2)
    meanwhile(played, monkeypatch, after=lambda: played.storage.acquire_epoch(JOB, 2, 3 * FIRST))
    with pytest.raises(UsageError, match="another process has just started the job"):
        requests_of(played, Restore(), shared(played, "a", "b"))


# -- a checkpoint that the process before was still storing lands after the decision


def unwritten(played: Played) -> None:
    """Two pipelines that share a target, and have not emptied it yet."""
    begin(played, shared(played, "a", "b"), 2)
    with pytest.MonkeyPatch.context() as first:
        first.setattr("tests.claiming.tables.SinkState", lambda **_: SinkState(save_mode_pending=True))
        played.store(1, 0)
        played.store(1, 0, table="b", pipeline=2)


def again(played: Played, restore: Restore | None = None) -> Claim:
    claim = claim_again(played.storage, JOB, played.planner(shared(played, "a", "b")), restore or Restore())
    assert isinstance(claim, Claim)
    return claim


def lands(played: Played) -> None:
    """It says that the save mode has acted; its process is told that it is replaced, and publishes none of it."""
    with pytest.raises(StaleEpochError):
        played.store(2, 3)


def start_of(played: Played, claim: Claim, number: int) -> tuple[Base, SinkState]:
    """What a pipeline starts from, and the state of its sink."""
    since = claim.epoch_minimum(0)
    request = claim.restores[number].of_process(since=since, is_restored=True)
    played.storage.acquire_epoch(JOB, number, since, below=(claim.version + 1) * FIRST)
    base = choose_base(played.storage.list_checkpoints(JOB, number), request)
    loaded = None if base.cut is None else played.storage.load(base.cut)
    topology = topology_of(next(each for each in claim.job.pipelines if each.id == number))
    states = restored(None if loaded is None else codec.decode(loaded.states), base, request, topology).states
    (sink,) = states.sinks.values()
    return base, sink


@pytest.mark.parametrize("has_checkpoints", [True, False])
def test_a_checkpoint_that_lands_after_the_decision_is_not_restored(tmp_path: Path, has_checkpoints: bool) -> None:
    """Its pipeline published its rows, and the other one emptied the target."""
    played = Played(tmp_path)
    if has_checkpoints:
        unwritten(played)
    else:
        begin(played, shared(played, "a", "b"), 2)
    claim = again(played)
    lands(played)
    starts = [start_of(played, claim, number) for number in (1, 2)]
    assert [(sink.save_mode_pending, sink.rows_committed) for _, sink in starts] == [(True, 0), (True, 0)]


def test_nor_by_the_process_after_one_that_emptied_the_target_and_died(tmp_path: Path) -> None:
    """A sink that writes directly had written its rows before that."""
    played = Played(tmp_path)
    unwritten(played)
    again(played)
    lands(played)
    claim = again(played)
    assert [claim.restores[number].saved for number in (1, 2)] == [frozenset(), frozenset()]
    assert [start_of(played, claim, number)[1].save_mode_pending for number in (1, 2)] == [True, True]


def test_the_start_after_the_decision_is_the_first_one_of_its_process(tmp_path: Path) -> None:
    """So it still requires that the checkpoints contain all that is published."""
    played = Played(tmp_path)
    unwritten(played)
    claim = again(played)
    request = claim.restores[1].of_process(since=claim.epoch_minimum(0), is_restored=True)
    assert request.as_of(played.storage.list_checkpoints(JOB, 1)).requires_known


def test_the_latest_checkpoint_may_be_asked_for(tmp_path: Path) -> None:
    played = Played(tmp_path)
    unwritten(played)
    claim = again(played, at("1:1"))
    lands(played)
    base, sink = start_of(played, claim, 1)
    assert (base.rewind, sink.save_mode_pending) == (None, True)
    assert base.info is not None
    assert base.info.base == CheckpointRef(FIRST, 1)


def test_a_pipeline_that_goes_back_keeps_its_request(tmp_path: Path) -> None:
    """A restore point would count as its execution, also for the process after one that died."""
    played = Played(tmp_path)
    unwritten(played)
    again(played, at("1:1", accept_duplicates=True))
    lands(played)
    assert start_of(played, again(played), 1)[0].ref == CheckpointRef(FIRST, 1)


def test_a_target_with_one_sink_needs_no_second_look(tmp_path: Path) -> None:
    """Its pipeline claims an epoch before it reads its state, in any case."""
    played = Played(tmp_path)
    begin(played, played.text("a", "b"), 2)
    requests_of(played, Restore(), played.text("a", "b"))
    assert [played.storage.newest_epoch(JOB, number) for number in (1, 2)] == [FIRST, FIRST]
