"""Which stored state a start may use, and in which form, as tables (R4, R8, R10)."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.decisions.base import Base, RestoreRequest, Rewind
from seatunnel_core.checkpoint.decisions.restored import (
    choose,
    must_list_published,
    require_known,
    restored,
    superseded,
)
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexStates
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType
from tests.checkpoint.played import ONE_TO_ONE, info_of
from tests.checkpoint.test_start import HELD, stored

REF = CheckpointRef
CUT = info_of(stored())
SAVEPOINT = evolve(CUT, checkpoint_id=8, checkpoint_type=CheckpointType.SAVEPOINT)
NEWER = evolve(CUT, checkpoint_id=9)
LATEST = Base(info=CUT, cut=CUT, restore_point_id=8)
PUBLISHED = Base(info=SAVEPOINT, cut=CUT, restore_point_id=9)
"""A savepoint: all that its cut names is published."""

BACK = Base(info=CUT, cut=CUT, restore_point_id=10, rewind=Rewind.RETRACTED)
MOVED = {"out": ((0, "path was '/a' and is '/b'"), (2, ""))}
"""The sink had another path below epoch 2."""

MORE = Topology(
    sources=(*ONE_TO_ONE.sources, SourceSpec(name="also", ordinal=1, sinks=("out",))), sinks=ONE_TO_ONE.sinks
)
FEWER = Topology(sources=(SourceSpec(name="also", ordinal=0, sinks=("out",)),), sinks=ONE_TO_ONE.sinks)
STAGED_NOTHING = evolve(HELD.without_staged(), sinks={"out": SinkState(save_mode_pending=True, prepared_in=1)})
OWING = evolve(HELD, retracting=REF(1, 5))


@pytest.mark.parametrize(
    ("newest_epoch", "checkpoints", "newer"),
    [
        (None, (), None),
        (3, (), None),
        (2, (CUT,), None),
        (4, (), 4),
        (3, (evolve(CUT, epoch=5),), 5),
    ],
    ids=["nothing stored", "its own marker", "older epochs", "a newer marker", "a newer checkpoint without marker"],
)
def test_an_epoch_acts_only_while_it_is_the_newest(
    newest_epoch: int | None, checkpoints: tuple[CheckpointInfo, ...], newer: int | None
) -> None:
    message = superseded(3, newest_epoch, checkpoints)
    if newer is None:
        assert message is None
    else:
        assert message == f"epoch {newer} was claimed after epoch 3: another engine runs this pipeline now"


@pytest.mark.parametrize(
    ("ref", "rewind", "rolls_back", "outcome"),
    [
        (None, Rewind.REFUSED, False, REF(1, 9)),
        (REF(1, 9), Rewind.REFUSED, False, REF(1, 9)),
        (REF(1, 7), Rewind.REFUSED, True, "1-7 is not the latest"),
        (REF(1, 7), Rewind.ACCEPTED, False, REF(1, 7)),
        (REF(1, 7), Rewind.RETRACTED, True, REF(1, 7)),
        (REF(1, 7), Rewind.RETRACTED, False, "'out' cannot"),
        (REF(1, 9), Rewind.RETRACTED, False, "'out' cannot"),
        (REF(1, 6), Rewind.ACCEPTED, True, "1-6 does not exist"),
    ],
)
def test_the_base(ref: CheckpointRef | None, rewind: Rewind, rolls_back: bool, outcome: CheckpointRef | str) -> None:
    topology = evolve(ONE_TO_ONE, sinks=(SinkSpec(name="out", ordinal=0, retracts=rolls_back),))
    request = RestoreRequest(ref=ref, rewind=rewind)
    if isinstance(outcome, str):
        with pytest.raises(RestoreRefusedError, match=outcome):
            choose((CUT, NEWER), request, topology)
    else:
        assert choose((CUT, NEWER), request, topology).ref == outcome


DROPPING = RestoreRequest(drops_staged=True)
CHANGED = RestoreRequest(changed_bindings=MOVED, since=2)


@pytest.mark.parametrize(
    ("states", "base", "request_", "outcome"),
    [
        (HELD, LATEST, RestoreRequest(), HELD),
        (HELD, PUBLISHED, RestoreRequest(), HELD),
        (HELD, PUBLISHED, DROPPING, HELD.without_staged()),
        (HELD, LATEST, DROPPING, HELD),
        (HELD, LATEST, CHANGED, "'out' has units staged .* path was '/a' and is '/b'"),
        (HELD, LATEST, evolve(CHANGED, since=1), HELD),
        (HELD, PUBLISHED, CHANGED, HELD),
        (HELD, BACK, RestoreRequest(), evolve(HELD, retracting=REF(1, 7))),
        (OWING, BACK, RestoreRequest(), OWING),
        (OWING, LATEST, RestoreRequest(), OWING),
        (VertexStates(), LATEST, RestoreRequest(), "which must be the same"),
    ],
    ids=[
        "the latest as it is",
        "a savepoint keeps the names of what it published",
        "staged output of a savepoint is given up",
        "staged output of a checkpoint is not",
        "staged for another target",
        "the target had changed before the state was inspected",
        "a savepoint left nothing to publish",
        "a rollback names its base",
        "an older rollback reaches further back",
        "a rollback is repeated until a checkpoint says it is done",
        "no state",
    ],
)
def test_the_restored_states(
    states: VertexStates, base: Base, request_: RestoreRequest, outcome: VertexStates | str
) -> None:
    if isinstance(outcome, str):
        with pytest.raises(RestoreRefusedError, match=outcome):
            restored(states, base, request_, ONE_TO_ONE)
    else:
        judged = restored(states, base, request_, ONE_TO_ONE)
        assert (judged.states, judged.is_extended) == (outcome, False)


@pytest.mark.parametrize(
    ("topology", "allowed", "extended"),
    [(MORE, False, True), (FEWER, True, True), (FEWER, False, None), (ONE_TO_ONE, True, False)],
    ids=["a new source", "another source, with permission", "another source", "the same"],
)
def test_vertices_that_the_base_lacks(topology: Topology, allowed: bool, extended: bool | None) -> None:
    request = RestoreRequest(allow_non_restored=allowed)
    if extended is None:
        with pytest.raises(RestoreRefusedError, match="which this job does not have"):
            restored(HELD, LATEST, request, topology)
        return
    judged = restored(HELD, LATEST, request, topology)
    assert judged.is_extended is extended
    assert judged.states.sources.keys() == {source.name for source in topology.sources}
    if extended:
        assert (judged.states.sources["also"], judged.states.tasks["also"]) == (SourceState(), TaskState())


@pytest.mark.parametrize("states", [None, STAGED_NOTHING], ids=["a first start", "a restart"])
@pytest.mark.parametrize(
    ("saved", "bindings", "pending", "prepared"),
    [
        ((), {}, True, 1),
        (("out", "dropped"), {}, False, 1),
        ((), MOVED, True, 0),
    ],
    ids=["as stored", "the save mode has acted", "a target that no epoch has prepared"],
)
def test_sinks(
    states: VertexStates | None, saved: tuple[str, ...], bindings: Mapping[str, Any], pending: bool, prepared: int
) -> None:
    request = RestoreRequest(saved=frozenset(saved), changed_bindings=bindings, since=2)
    sink = restored(states, LATEST, request, ONE_TO_ONE).states.sinks["out"]
    assert (sink.save_mode_pending, sink.prepared_in) == (pending, 0 if states is None else prepared)


@pytest.mark.parametrize(
    ("targets", "since", "prepared", "tables"),
    [
        ({"out": ((0, ""), (2, ""))}, 2, 0, {"t": "1"}),
        (MOVED, 2, 0, {}),
        (MOVED, 1, 1, {"t": "1"}),
        ({"out": ((0, "table was 'a' and is 'b'"), (1, ""), (2, ""))}, 2, 0, {"t": "1"}),
    ],
    ids=[
        "it stages elsewhere, for the same target",
        "another target",
        "another target before this process",
        "another target before the state was stored",
    ],
)
def test_tables_remain_known_while_the_target_is_the_same(
    targets: Mapping[str, Any], since: int, prepared: int, tables: Mapping[str, str]
) -> None:
    """The state is of epoch 1. What was lost of a table was created again if another option had changed, too."""
    sink = SinkState(save_mode_pending=False, prepared_in=1, published_to={"t": "1"})
    states = evolve(STAGED_NOTHING, sinks={"out": sink})
    request = RestoreRequest(changed_bindings=MOVED, changed_targets=targets, since=since)
    found = restored(states, LATEST, request, ONE_TO_ONE).states.sinks["out"]
    assert (found.prepared_in, found.published_to) == (prepared, tables)


@pytest.mark.parametrize(
    ("is_restored", "rewind", "states", "is_final", "asks"),
    [
        (True, Rewind.REFUSED, HELD, False, True),
        (False, Rewind.REFUSED, HELD, False, False),
        (True, Rewind.ACCEPTED, HELD, False, False),
        (True, Rewind.RETRACTED, HELD, False, False),
        (True, Rewind.REFUSED, OWING, False, False),
        (True, Rewind.REFUSED, HELD, True, False),
    ],
    ids=["restored", "a new job", "duplicates accepted", "rolled back", "a rollback that is repeated", "finished"],
)
def test_who_lists_what_is_published(
    is_restored: bool, rewind: Rewind, states: VertexStates, is_final: bool, asks: bool
) -> None:
    request = RestoreRequest(rewind=rewind).of_process(since=2, is_restored=is_restored)
    assert must_list_published(request, states, is_final=is_final) is asks
    assert not must_list_published(request.as_of((evolve(CUT, epoch=2),)), states, is_final=is_final), "a restart"


@pytest.mark.parametrize(
    ("base", "published", "unknown"),
    [
        (REF(1, 7), {"0-1-1", "0-1-3"}, None),
        (REF(1, 7), set(), None),
        (REF(1, 7), {"0-1-2"}, "1 unit (0-1-2), but the latest checkpoint 1-7"),
        (REF(1, 7), {"0-1-1", "0-1-4"}, "1 unit (0-1-4), but the latest checkpoint 1-7"),
        (None, {"0-1-1"}, "1 unit (0-1-1), but the job has no checkpoint"),
    ],
    ids=["named by the base", "nothing", "in flight in the base", "after the base", "no checkpoint"],
)
def test_what_the_base_knows(base: CheckpointRef | None, published: set[str], unknown: str | None) -> None:
    states = VertexStates.at_start(ONE_TO_ONE) if base is None else HELD

    def judge() -> None:
        require_known({"out": published}, states, ONE_TO_ONE, job_id="job", epoch=2, base=base)

    if unknown is None:
        judge()
    else:
        with pytest.raises(RestoreRefusedError) as refused:
            judge()
        assert unknown in str(refused.value)
