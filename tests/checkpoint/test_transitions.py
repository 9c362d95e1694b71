"""What is legal when: the table, the drawing of it, and events that do not fit."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import TaskState
from seatunnel_core.checkpoint.transitions import NEXT, TRANSITIONS, Phase, Transition, targets
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.drawing import PAGE, PICTURE, arrows, drawn, picture
from tests.checkpoint.played import ENDLESS, LASTING, PASSING, Played, committable, info_of, splits
from tests.checkpoint.test_start import HELD, stored

OTHER = PipelineState(
    job_id="job", pipeline_id=1, epoch=1, checkpoint_id=9, checkpoint_type=CheckpointType.CHECKPOINT, states=b""
)


def test_the_page_shows_the_table() -> None:
    """Write the page anew with ``python -m tests.checkpoint.drawing`` when the table has changed."""
    assert drawn(PAGE.read_text()) == PAGE.read_text()


def test_the_picture_shows_the_table() -> None:
    """Draw it anew with ``python -m tests.checkpoint.drawing`` when the table has changed."""
    assert picture() == PICTURE.read_text()
    drawn_steps = {(each.source, each.target) for each in arrows()}
    order = list(Phase)
    assert drawn_steps == {
        (order.index(phase), order.index(to)) for phase in Phase for to in NEXT[phase] if to is not phase
    }


def test_texts_of_the_picture_stay_within_it() -> None:
    """At 11 pixels a character is about 6 wide."""
    texts = re.findall(r'<text x="(\d+)" y="\d+">([^<]+)</text>', picture())
    assert len(texts) > len(Phase)
    assert [text for x, text in texts if int(x) + 6 * len(text) > 400] == []


def test_no_row_stands_twice_and_every_phase_is_reached_and_left() -> None:
    keys = [(row.phase, row.event) for row in TRANSITIONS]
    assert len(set(keys)) == len(keys)
    assert {phase for row in TRANSITIONS for phase in row.to} | {Phase.CREATED} == set(Phase)
    assert {row.phase for row in TRANSITIONS} | {Phase.ENDED} == set(Phase)
    assert targets(Phase.CREATED, events.Swept) == ()
    assert targets(Phase.ENDED, events.Swept) == (Phase.ENDED,)


class TestEveryRow:
    """Each row of the table, in the code: the event is taken, and leads where the row says."""

    BASE = stored(evolve(HELD, retracting=CheckpointRef(1, 5)))
    FINAL = stored(evolve(HELD, tasks={"in": TaskState(next_unit=4)}), CheckpointType.COMPLETED_POINT)

    def arrange(self, phase: Phase) -> Played:
        """A pipeline in ``phase``; where commits may be under way, one is."""
        policy = CheckpointPolicy(interval_ms=1_000, timeout_ms=5_000, tolerable_failures=1)
        asks = phase is Phase.RECOGNISING
        base = stored() if asks else self.BASE
        played = Played(epoch=2, policy=policy, restore=RestoreRequest(requires_known=asks))
        steps: list[Callable[[], object]] = [
            lambda: played.deliver(events.Started(now_ms=0)),
            lambda: played.deliver(events.EpochClaimed(now_ms=0, epoch=2)),
            lambda: played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(info_of(base),), newest_epoch=2)),
            lambda: played.deliver(events.CheckpointLoaded(now_ms=0, state=base)),
            lambda: played.stored(8),
            lambda: played.deliver(events.SinksPrepared(now_ms=0)),
            played.committed,
            lambda: played.deliver(events.Swept(now_ms=0, removed=0)),
            lambda: played.deliver(events.Retracted(now_ms=0, removed=0)),
            lambda: played.enumerated(4),
            lambda: [played.checkpoint(), played.stored(9)],
            lambda: [played.finish(2), played.finish(4)] if phase is not Phase.STOPPING else None,
            lambda: played.deliver(events.StopRequested(now_ms=0)) if phase is Phase.STOPPING else None,
            lambda: played.stored(10),
            lambda: played.committed() if played.get(commands.Commit) else self.commit_first(played),
            lambda: played.deliver(events.Completed(now_ms=0)),
        ]
        for step in steps:
            if played.protocol.phase is phase and (phase is not Phase.RUNNING or played.ever(commands.Commit)[1:]):
                return played
            step()
        assert played.protocol.phase is phase
        return played

    @staticmethod
    def commit_first(played: Played) -> None:
        while played.protocol.phase is Phase.FINISHING:
            commit = played.ever(commands.Commit)[-1]
            ids = tuple(each.id for each in commit.committables)
            played.deliver(events.CommitSucceeded(now_ms=0, sink="out", ids=ids))

    def event(self, kind: type[events.Event], played: Played) -> Any:
        """An event of this kind that the pipeline has to bear."""
        commits = played.ever(commands.Commit)
        ids = tuple(each.id for each in commits[-1].committables) if commits else ()
        stores = played.ever(commands.StoreCheckpoint)
        ref = stores[-1].state.ref if stores else CheckpointRef(2, 8)
        fixed: dict[type[Any], Any] = {
            events.Found: events.Found(now_ms=0, source="in", splits=(), memory={}, again_ms=None),
            events.PollFailed: events.PollFailed(now_ms=0, source="in", failure=LASTING),
            events.EpochClaimed: events.EpochClaimed(now_ms=0, epoch=2),
            events.CheckpointsListed: events.CheckpointsListed(now_ms=0, checkpoints=(), newest_epoch=2),
            events.CheckpointLoaded: events.CheckpointLoaded(now_ms=0, state=self.BASE),
            events.CheckpointDamaged: events.CheckpointDamaged(now_ms=0, ref=ref, intact=None, message="torn"),
            events.PublishedListed: events.PublishedListed(now_ms=0, published={"out": frozenset()}),
            events.Completed: events.Completed(now_ms=0),
            events.Swept: events.Swept(now_ms=0, removed=0),
            events.Retracted: events.Retracted(now_ms=0, removed=2),
            events.Enumerated: events.Enumerated(now_ms=0, source="in", splits=splits(4), attachment="frozen-in"),
            events.ConnectorFailed: events.ConnectorFailed(now_ms=0, failure=PASSING),
            events.CheckpointStored: events.CheckpointStored(now_ms=0, ref=ref),
            events.StorageFailed: events.StorageFailed(now_ms=0, failure=PASSING, ref=ref),
            events.FenceLost: events.FenceLost(now_ms=0, message="a newer engine"),
            events.TriggerRequested: events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT),
            events.SavepointRequested: events.SavepointRequested(now_ms=0, name="before the upgrade"),
            events.UnitFinished: finished(epoch=1),
            events.UnitFailed: events.UnitFailed(
                now_ms=0, task="in", attempt=AttemptId(unit=2, epoch=1, number=1), failure=PASSING
            ),
            events.CommitSucceeded: events.CommitSucceeded(now_ms=0, sink="out", ids=ids),
            events.CommitFailed: events.CommitFailed(now_ms=0, sink="out", committed=(), failure=PASSING),
            events.TimerFired: events.TimerFired(now_ms=0, key="an old one"),
        }
        return fixed.get(kind) or kind(now_ms=0)

    def arrange_looking(self, phase: Phase) -> Played:
        """A pipeline in ``phase`` whose source looks for more."""
        played = Played(ENDLESS, policy=CheckpointPolicy(interval_ms=None))
        played.run(0)
        if phase is Phase.STOPPING:
            played.deliver(events.StopRequested(now_ms=0))
        return played

    @pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row.phase.value}-{row.event.__name__}")
    def test_leads_where_it_says(self, row: Transition) -> None:
        looking = row.event in (events.Found, events.PollFailed)
        played = self.arrange_looking(row.phase) if looking else self.arrange(row.phase)
        played.deliver(self.event(row.event, played))
        assert played.protocol.phase in row.to


def first_phase(_played: Played) -> None: ...


def listing(played: Played) -> None:
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=5))


def claiming(played: Played) -> None:
    played.deliver(events.Started(now_ms=0))


def restoring(played: Played) -> None:
    played.begin()


def running(played: Played) -> None:
    played.run(4)


def publishing(played: Played) -> None:
    played.run(4)
    played.finish(1)
    played.finish(2)
    played.checkpoint()
    played.stored(2)


def enumerating(played: Played) -> None:
    played.stored(played.begin().checkpoint_id)
    played.deliver(events.SinksPrepared(now_ms=0))
    played.deliver(events.Swept(now_ms=0, removed=0))


def finished(unit: int = 1, sink: str = "out", task: str = "in", **said: Any) -> events.UnitFinished:
    return events.UnitFinished(
        now_ms=0, task=task, attempt=AttemptId(unit=unit, epoch=5, number=1), rows_read=1, bytes_read=1, rows_skipped=0,
        committables={sink: committable(said.get("of", unit), epoch=said.get("epoch", 5))},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arrange", "event", "said"),
    [
        (first_phase, events.SinksPrepared(now_ms=0), "SinksPrepared is not legal while the pipeline is created; "
         "legal events: Started, StopRequested"),
        (running, events.Started(now_ms=0), "Started is not legal while the pipeline is running"),
        (claiming, events.EpochClaimed(now_ms=0, epoch=4), "epoch 4 was claimed; expected at least 5"),
        (restoring, events.CheckpointStored(now_ms=0, ref=CheckpointRef(5, 9)), "5-9 was stored, but epoch 5"),
        (running, events.CheckpointStored(now_ms=0, ref=CheckpointRef(4, 2)), "4-2 was stored, but epoch 5"),
        (running, events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.SAVEPOINT),
         "cannot request .*SAVEPOINT, only"),
        (running, events.StorageFailed(now_ms=0, failure=PASSING), "name the checkpoint"),
        (running, finished(task="oven"), "the pipeline has no task 'oven'; it has in"),
        (running, finished(sink="oven"), "source 'in' does not feed sink 'oven'"),
        (running, finished(of=3), "committable '0-5-3' belongs to .source, unit, epoch. = .'in', 3, 5.; expected"),
        (running, finished(epoch=4), "committable '0-4-1' belongs to"),
        (running, events.CommitSucceeded(now_ms=0, sink="out", ids=("a",)), "publishing nothing, not"),
        (publishing, events.CommitSucceeded(now_ms=0, sink="out", ids=("0-5-1",)), "publishing .'0-5-1', '0-5-2'."),
        (publishing, events.CommitFailed(now_ms=0, sink="out", committed=("0-5-2",), failure=PASSING), ", not "),
        (publishing, events.CommitSucceeded(now_ms=0, sink="oven", ids=()), "no sink 'oven'"),
        (enumerating, events.Enumerated(now_ms=0, source="oven", splits=(), attachment=""), "no source 'oven'"),
        (enumerating, events.Enumerated(now_ms=0, source="in", splits=splits(3)[1:], attachment=""),
         "numbered from 0 without gaps; number 1 is at position 0"),
    ],
)  # fmt: skip
def test_an_event_that_does_not_fit_changes_nothing(arrange: Any, event: Any, said: str) -> None:
    played, untouched = Played(epoch=5), Played(epoch=5)
    arrange(played)
    arrange(untouched)
    with pytest.raises(IllegalEventError, match=said):
        played.deliver(event)
    assert played.protocol.progress() == untouched.protocol.progress()
    following = events.StopRequested(now_ms=0)
    assert played.deliver(following) == untouched.deliver(following), "it goes on as if nothing had come"


def test_another_checkpoint_than_the_one_that_was_asked_for() -> None:
    played = Played(epoch=5)
    listing(played)
    base = PipelineState(
        job_id="job", pipeline_id=1, epoch=1, checkpoint_id=3, checkpoint_type=CheckpointType.CHECKPOINT, states=b""
    )
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(info_of(base),), newest_epoch=5))
    with pytest.raises(IllegalEventError, match="checkpoint 1-9 was loaded; expected 1-3"):
        played.deliver(events.CheckpointLoaded(now_ms=0, state=OTHER))
    assert played.protocol.phase is Phase.LOADING


@pytest.mark.parametrize(
    ("count", "attachment", "said"),
    [
        (4, "another", "was enumerated as 'frozen-in', but its enumeration is now 'another'"),
        (5, "frozen-in", "enumerated with 4 splits"),
    ],
)
def test_an_enumeration_stays_as_it_was_frozen(count: int, attachment: str, said: str) -> None:
    played = Played(epoch=2)
    played.stored(played.begin(stored()).checkpoint_id)
    played.deliver(events.SinksPrepared(now_ms=0))
    played.committed()
    played.deliver(events.Swept(now_ms=0, removed=0))
    with pytest.raises(IllegalEventError, match=said):
        played.deliver(events.Enumerated(now_ms=0, source="in", splits=splits(count), attachment=attachment))


def test_an_enumeration_that_nobody_asked_for() -> None:
    two = Topology(
        sources=(SourceSpec(name="a", ordinal=0, sinks=("x",)), SourceSpec(name="b", ordinal=1, sinks=("x",))),
        sinks=(SinkSpec(name="x", ordinal=0),),
    )
    played = Played(two)
    enumerating(played)
    played.enumerated(1, source="a")
    with pytest.raises(IllegalEventError, match="'a' received splits without a request"):
        played.enumerated(1, source="a")


def test_after_the_end_every_event_is_ignored() -> None:
    played = Played()
    played.deliver(events.StopRequested(now_ms=0))
    assert played.get(commands.EndPipeline)
    for event in (events.Started(now_ms=0), finished(), events.Swept(now_ms=0, removed=0)):
        assert played.deliver(event) == ()


@pytest.mark.parametrize(
    "receive",
    [
        lambda protocol: protocol._sources["in"].receive,
        lambda protocol: protocol._tasks["in"].receive,
        lambda protocol: protocol._sinks["out"].receive,
        lambda protocol: lambda message: protocol._sinks["out"].receive_from("in", message),
        lambda protocol: protocol._coordinator.receive,
    ],
)
def test_a_message_that_went_astray_is_a_bug(receive: Any) -> None:
    with pytest.raises(AssertionError):
        receive(Played().protocol)(object())
