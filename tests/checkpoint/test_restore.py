"""What a start restores when a person asks for it (R10): an older checkpoint, fewer vertices, another savepoint."""

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Outcome
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind, choose_base
from seatunnel_core.checkpoint.decisions.matching import Comparison, compare, fitted
from seatunnel_core.checkpoint.errors import RestoreRefusedError, StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.retraction import Retraction
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.played import ONE_TO_ONE, ORDERED, Played, committable, info_of
from tests.checkpoint.test_start import HELD, SWAPPED, TWO, stored

REF = CheckpointRef


def info(
    epoch: int, checkpoint_id: int, base: CheckpointRef | None = None, kind: CheckpointType = CheckpointType.CHECKPOINT
) -> CheckpointInfo:
    return evolve(info_of(stored()), epoch=epoch, checkpoint_id=checkpoint_id, base=base, checkpoint_type=kind)


SAVEPOINT = info(1, 8, kind=CheckpointType.SAVEPOINT)
HISTORY = (info(1, 6), info(1, 7), SAVEPOINT, info(1, 9), info(2, 10, REF(1, 8)), info(2, 11, REF(1, 8)))
"""Checkpoint 1-8 is the savepoint of 1-7, and 1-9 came from an engine that had been replaced: it is orphaned."""


class TestTheBase:
    @pytest.mark.parametrize("rewind", Rewind)
    def test_the_latest_may_be_named(self, rewind: Rewind) -> None:
        named = choose_base(HISTORY, RestoreRequest(ref=REF(2, 11), rewind=rewind))
        plain = choose_base(HISTORY, RestoreRequest(rewind=rewind))
        taken_back = rewind is Rewind.RETRACTED  # somebody may have removed newer ones
        assert named == evolve(plain, rewind=rewind if taken_back else None)
        assert (plain.ref, plain.rewind, plain.restore_point_id) == (REF(2, 11), None, 12)

    @pytest.mark.parametrize("rewind", [Rewind.RETRACTED, Rewind.ACCEPTED])
    def test_an_older_one_with_what_becomes_of_the_rows(self, rewind: Rewind) -> None:
        base = choose_base(HISTORY, RestoreRequest(ref=REF(1, 6), rewind=rewind))
        assert (base.ref, base.cut, base.rewind, base.restore_point_id) == (REF(1, 6), HISTORY[0], rewind, 12)

    def test_an_older_one_is_refused_and_says_what_each_way_costs(self) -> None:
        with pytest.raises(RestoreRefusedError) as refused:
            choose_base(HISTORY, RestoreRequest(ref=REF(1, 6)))
        said = str(refused.value)
        assert said.startswith("checkpoint 1-6 is not the latest: 1-7, 1-8, 2-10, 2-11 is newer")
        assert "retract=True to roll them back first" in said
        assert "accept_duplicates=True to accept duplicates" in said

    @pytest.mark.parametrize("asked", [REF(1, 7), REF(1, 8)])
    def test_a_savepoint_and_the_checkpoint_of_its_cut_are_the_same(self, asked: CheckpointRef) -> None:
        """A start from the checkpoint would leave its savepoint behind as orphaned."""
        base = choose_base(HISTORY, RestoreRequest(ref=asked, rewind=Rewind.ACCEPTED))
        assert (base.info, base.cut) == (SAVEPOINT, HISTORY[1])
        assert choose_base(HISTORY[:3], RestoreRequest(ref=asked)).rewind is None

    @pytest.mark.parametrize(
        ("listed", "ref", "said"),
        [
            (HISTORY, REF(1, 5), "checkpoint 1-5 does not exist. These can be restored: 1-6, 1-7, 1-8, 2-10, 2-11"),
            (
                HISTORY,
                REF(1, 9),
                "checkpoint 1-9 is orphaned, because an older checkpoint was restored or another engine",
            ),
            ((), REF(1, 9), "checkpoint 1-9 does not exist. These can be restored: none"),
        ],
    )
    def test_what_is_not_there_or_void_is_refused(
        self, listed: tuple[CheckpointInfo, ...], ref: CheckpointRef, said: str
    ) -> None:
        with pytest.raises(RestoreRefusedError, match=said):
            choose_base(listed, RestoreRequest(ref=ref, rewind=Rewind.ACCEPTED))

    @pytest.mark.parametrize(("since", "done"), [(None, False), (3, False), (2, True), (1, True)])
    def test_a_request_is_done_when_a_checkpoint_of_its_process_is_there(self, since: int | None, done: bool) -> None:
        request = RestoreRequest(ref=REF(1, 6), rewind=Rewind.ACCEPTED, allow_non_restored=True, since=since)
        assert request.as_of(HISTORY) == (RestoreRequest(allow_non_restored=True) if done else request)
        assert request.as_of(()) == request


@pytest.mark.parametrize(
    ("source", "epoch", "unit", "taken"),
    [
        (0, 3, 2, True),  # in flight in the base, run again and published since
        (0, 3, 4, True),  # not numbered yet in the base
        (0, 3, 1, False),  # published before the base
        (0, 2, 2, True),  # held back for order in an older epoch, and in flight for a savepoint
        (0, 4, 1, True),  # what a newer epoch staged came after the base, whatever its number
        (0, 3, 3, False),  # the base names it as a committable
        (0, 7, 9, False),  # of the start that takes back
        (0, 8, 9, False),  # of one that has replaced it
        (1, 3, 9, False),  # a source that the base does not have had published nothing by then
        (1, 4, 1, True),
    ],
)
def test_what_is_taken_back(source: int, epoch: int, unit: int, taken: bool) -> None:
    retraction = Retraction(
        epoch=7,
        base_epoch=3,
        next_units={0: 4},
        in_flight={0: frozenset({2})},
        named=frozenset({"0-3-3"}),
    )
    assert retraction.takes(f"{source}-{epoch}-{unit}", source=source, epoch=epoch, unit=unit) is taken


ABLE = evolve(ORDERED, sinks=(SinkSpec(name="out", ordinal=0, retracts=True),))
OLD = stored()
NEW = evolve(stored(), checkpoint_id=9)
FINAL = stored(evolve(HELD, tasks={"in": TaskState(next_unit=4)}), CheckpointType.COMPLETED_POINT)


def listed(request: RestoreRequest, topology: Topology = ABLE, *states: PipelineState) -> Played:
    """Up to the answer to the listing."""
    played = Played(topology, epoch=2, restore=request)
    played.deliver(events.Started(now_ms=0))
    played.deliver(events.EpochClaimed(now_ms=0, epoch=2))
    infos = tuple(map(info_of, states or (OLD, NEW)))
    played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=infos, newest_epoch=2))
    return played


def back(rewind: Rewind, topology: Topology = ABLE, base: PipelineState = OLD) -> Played:
    """A start that goes back to ``base``, up to its restore point, which is not stored yet."""
    played = listed(RestoreRequest(ref=base.ref, rewind=rewind), topology, base, NEW)
    assert played.only(commands.LoadCheckpoint).ref == base.ref
    played.deliver(events.CheckpointLoaded(now_ms=0, state=base))
    return played


def failure(played: Played) -> Failure:
    end = played.only(commands.EndPipeline)
    assert end.outcome is Outcome.FAILED
    assert end.failure is not None
    return end.failure


@pytest.mark.parametrize(("sink", "since", "goes"), [("out", 2, False), ("out", 1, True), ("another", 2, True)])
def test_what_was_staged_since_a_restore_was_decided_goes_where_it_was_meant(sink: str, since: int, goes: bool) -> None:
    """An engine that ran until its job was claimed stored one more checkpoint behind the one that had been looked at,
    and what that named was published for other options."""
    request = RestoreRequest(changed_bindings={sink: [(0, "path was '/a' and is '/b'"), (2, "")]}, since=since)
    played = listed(request, ORDERED, NEW)
    played.deliver(events.CheckpointLoaded(now_ms=0, state=NEW))
    assert bool(played.get(commands.StoreCheckpoint)) is goes
    assert goes or "'out' has units staged that may still be unpublished, and its path was" in failure(played).message


@pytest.mark.parametrize(
    ("since", "bindings", "known"),
    [(3, {}, {"out": 1}), (2, {"out": [(0, "path was")]}, {}), (1, {"out": [(0, "path was")]}, {"out": 1})],
    ids=["the same options", "another target", "an earlier start has changed it already"],
)
def test_a_start_names_the_epoch_that_has_prepared_the_same_target(
    since: int, bindings: dict[str, list[tuple[int, str]]], known: dict[str, int]
) -> None:
    """Without it a sink folder that was moved away is created again, and the job goes on with exit code 0 (R8)."""
    states = evolve(HELD.without_staged(), sinks={"out": SinkState(save_mode_pending=False, prepared_in=1)})
    base = stored(states)
    played = listed(RestoreRequest(changed_bindings=bindings, since=since), ORDERED, base)
    played.deliver(events.CheckpointLoaded(now_ms=0, state=base))
    played.stored(played.only(commands.StoreCheckpoint).state.checkpoint_id)
    assert played.only(commands.PrepareSinks).prepared_in == known
    assert codec.decode(codec.encode(states)) == states
    assert states.unprepared().sinks["out"].prepared_in == 0


class TestGoingBack:
    def test_rows_are_taken_back_after_the_sweep_and_before_anything_is_read(self) -> None:
        played = back(Rewind.RETRACTED)
        state = played.only(commands.StoreCheckpoint).state
        assert (state.base, state.checkpoint_id) == (REF(1, 7), 10)
        assert codec.decode(state.states) == evolve(HELD, retracting=REF(1, 7))
        played.stored(10)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.committed()
        assert played.only(commands.Sweep).keep == frozenset({"0-1-1", "0-1-3"})
        played.deliver(events.Swept(now_ms=0, removed=0))
        wanted = Retraction(
            epoch=2,
            base_epoch=1,
            next_units={0: 4},
            in_flight={0: frozenset({2})},
            named=frozenset({"0-1-1", "0-1-3"}),
        )
        assert played.said == (commands.Retract(epoch=2, retractions={"out": wanted}),)
        played.deliver(events.Retracted(now_ms=0, removed=3))
        assert played.get(commands.Enumerate)
        played.enumerated(4)
        assert codec.decode(played.checkpoint().states).retracting is None, (
            "a checkpoint of the run says that it is done"
        )

    def test_a_later_start_repeats_it_until_a_checkpoint_says_done(self) -> None:
        half_done = evolve(stored(evolve(HELD, retracting=REF(1, 5))), epoch=2, base=REF(1, 5))
        played = Played(ABLE, epoch=3)
        assert codec.decode(played.begin(half_done).states).retracting == REF(1, 5)
        played.stored(8)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.committed()
        played.deliver(events.Swept(now_ms=0, removed=0))
        retraction = played.only(commands.Retract).retractions["out"]
        assert (retraction.epoch, retraction.base_epoch) == (3, 1)

    def test_who_goes_back_to_what_goes_back_takes_back_as_much(self) -> None:
        base = stored(evolve(HELD, retracting=REF(1, 3)))
        state = back(Rewind.RETRACTED, base=base).only(commands.StoreCheckpoint).state
        assert codec.decode(state.states).retracting == REF(1, 3)

    def test_accepted_duplicates_are_left_alone(self) -> None:
        played = back(Rewind.ACCEPTED, ONE_TO_ONE)
        assert codec.decode(played.only(commands.StoreCheckpoint).state.states) == HELD

    def test_a_finished_pipeline_takes_back_what_followed_its_end(self) -> None:
        played = back(Rewind.RETRACTED, base=FINAL)
        assert played.only(commands.StoreCheckpoint).state.checkpoint_type is CheckpointType.COMPLETED_POINT
        played.stored(10)
        played.deliver(events.SinksPrepared(now_ms=0))
        played.committed()
        assert not played.only(commands.Sweep).final
        played.deliver(events.Swept(now_ms=0, removed=0))
        assert played.get(commands.Retract)
        played.deliver(events.Retracted(now_ms=0, removed=1))
        assert played.get(commands.Complete)
        played.deliver(events.Completed(now_ms=0))
        assert played.only(commands.Sweep).final
        assert played.protocol.phase is Phase.CLEANING

    def test_it_is_refused_before_anything_is_stored(self) -> None:
        for request, said in (
            (RestoreRequest(ref=OLD.ref), "1-7 is not the latest: 1-9 is newer"),
            (RestoreRequest(ref=REF(4, 4), rewind=Rewind.ACCEPTED), "4-4 does not exist"),
        ):
            played = listed(request)
            assert failure(played).kind is FailureKind.USAGE
            assert said in failure(played).message
            assert not played.ever(commands.StoreCheckpoint)

    def test_sinks_that_cannot_take_back_are_named_before_anything_is_stored(self) -> None:
        played = listed(RestoreRequest(ref=OLD.ref, rewind=Rewind.RETRACTED), ONE_TO_ONE)
        assert failure(played).kind is FailureKind.USAGE
        assert "checkpoint 1-7 with retract=True requires sinks that can roll back published rows; 'out' cannot" in (
            failure(played).message
        )

    def test_a_restart_goes_on_from_what_the_first_start_restored(self) -> None:
        own = evolve(stored(), epoch=2, checkpoint_id=10, base=REF(1, 7))
        request = RestoreRequest(ref=OLD.ref, rewind=Rewind.RETRACTED, since=2)
        assert listed(request, ABLE, OLD, own).only(commands.LoadCheckpoint).ref == own.ref
        assert listed(request).only(commands.LoadCheckpoint).ref == OLD.ref, "it had not come that far"

    def test_a_damaged_one_says_what_would_go_on(self) -> None:
        played = listed(RestoreRequest(ref=OLD.ref, rewind=Rewind.ACCEPTED))
        played.deliver(events.CheckpointDamaged(now_ms=0, ref=OLD.ref, intact=NEW.ref, message="a byte is wrong"))
        said = failure(played).message
        assert said.startswith("the requested checkpoint 1-7 is damaged (a byte is wrong)")
        assert "retract=True to first delete" in said
        assert "accept_duplicates=True to keep" in said


UNPUBLISHED = evolve(
    VertexStates.at_start(TWO), sinks={"out": SinkState(), "more": SinkState(uncommitted=(committable(1),))}
)


class TestVertices:
    def test_the_comparison_is_by_name(self) -> None:
        assert compare(HELD, ONE_TO_ONE) == Comparison(matched=("sink out", "source in"), new=(), dropped=())
        assert compare(HELD, SWAPPED).new == ("sink more", "source also")
        assert compare(VertexStates.at_start(SWAPPED), ONE_TO_ONE).dropped == ("sink more", "source also")

    def test_the_comparison_says_what_is_not_the_same(self) -> None:
        assert str(Comparison.of(["a", "b"], ["b", "a"])) == "matched by name: 2"
        assert str(Comparison.of(["x", "a", "y"], ["c", "a", "b"])) == (
            "matched by name: 1; new, starting from the beginning: c, b; dropped, with their stored state: x, y"
        )

    def test_new_ones_begin_and_need_no_permission(self) -> None:
        wider = fitted(HELD, TWO)
        assert wider.sinks == {"out": HELD.sinks["out"], "more": SinkState()}
        assert wider.tasks == HELD.tasks
        added = Topology(
            sources=(*ONE_TO_ONE.sources, SourceSpec(name="also", ordinal=1, sinks=("out",))), sinks=ONE_TO_ONE.sinks
        )
        assert fitted(HELD, added).sources == {"in": HELD.sources["in"], "also": SourceState()}

    def test_dropped_ones_need_permission(self) -> None:
        states = VertexStates.at_start(SWAPPED)
        with pytest.raises(RestoreRefusedError, match="allow_non_restored_state=True to continue without their stored"):
            fitted(states, ONE_TO_ONE)
        assert fitted(states, ONE_TO_ONE, allow_non_restored=True) == VertexStates.at_start(ONE_TO_ONE)

    def test_a_dropped_sink_publishes_first(self) -> None:
        with pytest.raises(
            RestoreRefusedError, match="sink 'more' was removed from the job but may have 1 committables"
        ):
            fitted(UNPUBLISHED, ONE_TO_ONE, allow_non_restored=True)
        assert fitted(UNPUBLISHED, ONE_TO_ONE, allow_non_restored=True, is_published=True)

    def test_what_is_staged_for_a_sink_that_is_not_fed_any_more_goes_with_permission(self) -> None:
        fitting = fitted(HELD, SWAPPED, allow_non_restored=True)
        assert [held.committables for held in fitting.tasks["in"].units] == [None, {}]

    @pytest.mark.parametrize(
        "states", [VertexStates(), VertexStates(sources={"in": SourceState()}), VertexStates(tasks={"in": TaskState()})]
    )
    def test_a_state_without_sources_or_tasks_is_none(self, states: VertexStates) -> None:
        with pytest.raises(RestoreRefusedError, match="which must be the same"):
            fitted(states, ONE_TO_ONE)

    def test_a_savepoint_says_that_a_dropped_sink_has_published(self) -> None:
        """The start takes the state of its cut, which still names what the sink had to publish."""
        savepoint = evolve(stored(), checkpoint_id=8, checkpoint_type=CheckpointType.SAVEPOINT)
        cut = stored(UNPUBLISHED)
        for known, fits in (((cut, savepoint), True), ((cut,), False)):
            played = listed(RestoreRequest(allow_non_restored=True), ONE_TO_ONE, *known)
            played.deliver(events.CheckpointLoaded(now_ms=0, state=cut))
            assert bool(played.get(commands.StoreCheckpoint)) is fits

    def test_what_is_staged_for_something_else_is_given_up_behind_a_savepoint_only(self) -> None:
        """All of it is published then; a unit that was held back for order is read again."""
        savepoint = evolve(stored(), checkpoint_id=8, checkpoint_type=CheckpointType.SAVEPOINT)
        for known, given_up in (((stored(), savepoint), True), ((stored(),), False)):
            played = listed(RestoreRequest(drops_staged=True), ONE_TO_ONE, *known)
            played.deliver(events.CheckpointLoaded(now_ms=0, state=stored()))
            found = codec.decode(played.only(commands.StoreCheckpoint).state.states)
            assert (found == HELD.without_staged()) is given_up
            assert (found == HELD) is not given_up

    def test_a_save_mode_that_has_acted_is_done_from_the_restore_point_on(self) -> None:
        """A later start must know it, too, whatever has become of the checkpoints that told it."""
        pending = evolve(HELD, sinks={"out": evolve(HELD.sinks["out"], save_mode_pending=True)})
        for states in (pending, None):
            for saved in (frozenset[str](), frozenset({"out"})):
                played = Played(epoch=2, restore=RestoreRequest(saved=saved))
                state = played.begin(None if states is None else stored(states))
                assert codec.decode(state.states).sinks["out"].save_mode_pending is not bool(saved)
                played.stored(state.checkpoint_id)
                assert bool(played.only(commands.PrepareSinks).save_mode_pending) is not bool(saved)

    def test_a_table_that_is_added_to_a_finished_pipeline_is_read(self) -> None:
        added = Topology(
            sources=(*ONE_TO_ONE.sources, SourceSpec(name="also", ordinal=1, sinks=("out",))), sinks=ONE_TO_ONE.sinks
        )
        played = Played(added, epoch=2)
        played.run(4, stored=FINAL)
        assert {asked.source for asked in played.ever(commands.Enumerate)} == {"in", "also"}
        assert {command.task for command in played.ever(commands.RunUnit)} >= {"also"}


def test_what_is_taken_back_is_stored_and_only_then() -> None:
    assert b"retracting" not in codec.encode(HELD)
    owing = evolve(HELD, retracting=REF(1, 7))
    assert codec.decode(codec.encode(owing)) == owing
    with pytest.raises(StateFormatError, match="'checkpoint_id' is missing"):
        codec.decode(b'{"format": 1, "vertices": {}, "retracting": {"epoch": 1}}')
