"""A checkpoint that the process before was still storing, and that lands after the decision about save modes."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.checkpoint.decisions.base import Base, Rewind, choose_base
from seatunnel_core.checkpoint.decisions.restored import restored
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import SinkState
from seatunnel_core.claiming import claim
from seatunnel_core.claiming.claim import Claim
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.planning.settings import topology_of
from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.state import CheckpointRef
from tests.claiming.tables import FIRST, JOB, Played, at
from tests.runtime.test_save_modes import begin, shared


def unwritten(played: Played) -> None:
    """Two pipelines that share a target, and have not emptied it yet."""
    begin(played, shared(played, "a", "b"), 2)
    with pytest.MonkeyPatch.context() as first:
        first.setattr("tests.claiming.tables.SinkState", lambda **_: SinkState(save_mode_pending=True))
        played.store(1, 0)
        played.store(1, 0, table="b", pipeline=2)


def again(played: Played, restore: Restore | None = None) -> Claim:
    text = shared(played, "a", "b")
    claimed = claim.claim_again(played.storage, JOB, played.planner(text), restore or Restore())
    assert isinstance(claimed, Claim)
    return claimed


def lands(played: Played) -> None:
    """It says that the save mode has acted; its process is told that it is replaced, and publishes none of it."""
    with pytest.raises(StaleEpochError):
        played.store(2, 3)


def start_of(played: Played, claimed: Claim, number: int) -> tuple[Base, SinkState]:
    """What a pipeline starts from, and the state of its sink."""
    since = claimed.epoch_minimum(0)
    request = claimed.restores[number].of_process(since=since, is_restored=True)
    played.storage.acquire_epoch(JOB, number, since, below=(claimed.version + 1) * FIRST)
    base = choose_base(played.storage.list_checkpoints(JOB, number), request)
    loaded = None if base.cut is None else played.storage.load(base.cut)
    topology = topology_of(next(each for each in claimed.job.pipelines if each.id == number))
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
    claimed = again(played)
    lands(played)
    starts = [start_of(played, claimed, number) for number in (1, 2)]
    assert [(sink.save_mode_pending, sink.rows_committed) for _, sink in starts] == [(True, 0), (True, 0)]


def test_nor_by_the_process_after_one_that_emptied_the_target_and_died(tmp_path: Path) -> None:
    """A sink that writes directly had written its rows before that."""
    played = Played(tmp_path)
    unwritten(played)
    again(played)
    lands(played)
    claimed = again(played)
    assert [claimed.restores[number].saved for number in (1, 2)] == [frozenset(), frozenset()]
    assert [start_of(played, claimed, number)[1].save_mode_pending for number in (1, 2)] == [True, True]


def test_the_start_after_the_decision_is_the_first_one_of_its_process(tmp_path: Path) -> None:
    """So it still requires that the checkpoints contain all that is published."""
    played = Played(tmp_path)
    unwritten(played)
    claimed = again(played)
    request = claimed.restores[1].of_process(since=claimed.epoch_minimum(0), is_restored=True)
    assert request.as_of(played.storage.list_checkpoints(JOB, 1)).requires_known


def test_the_latest_checkpoint_may_be_asked_for(tmp_path: Path) -> None:
    played = Played(tmp_path)
    unwritten(played)
    claimed = again(played, at("1:1"))
    lands(played)
    base, sink = start_of(played, claimed, 1)
    assert (base.rewind, sink.save_mode_pending) == (None, True)
    assert base.info is not None
    assert base.info.base == CheckpointRef(FIRST, 1)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_pipeline_that_goes_back_keeps_its_request(tmp_path: Path, processes: int) -> None:
    """The restore point with the states that were read does not count as its execution, also for the process after one
    that died."""
    played = Played(tmp_path)
    unwritten(played)
    claimed = again(played, at("1:1", accept_duplicates=True))
    lands(played)
    for _ in range(1, processes):
        claimed = again(played)
    base, sink = start_of(played, claimed, 1)
    assert (base.ref, base.rewind, sink.save_mode_pending) == (CheckpointRef(FIRST, 1), Rewind.ACCEPTED, True)


def test_once_a_pipeline_has_gone_back_the_next_process_continues_from_there(tmp_path: Path) -> None:
    played = Played(tmp_path)
    unwritten(played)
    claimed = again(played, at("1:1", accept_duplicates=True))
    base, _ = start_of(played, claimed, 1)
    epoch = claimed.epoch_minimum(0)
    with pytest.MonkeyPatch.context() as first:
        first.setattr("tests.claiming.tables.SinkState", lambda **_: SinkState(save_mode_pending=True))
        played.store(base.restore_point_id, 0, epoch=epoch, base=base.ref)
    later = again(played)
    assert 1 not in later.job.manifest.asked
    assert start_of(played, later, 1)[0].rewind is None


def test_one_that_goes_back_cannot_restore_it_either(tmp_path: Path) -> None:
    """The process died before the pipeline had gone back, but after another one had emptied the target. The user then
    asked for the checkpoint that had landed: rows that a sink had written directly before it were lost."""
    played = Played(tmp_path)
    unwritten(played)
    again(played, at("1:1", accept_duplicates=True))
    lands(played)
    with pytest.raises(UsageError, match=r"100000-2 is orphaned, .* These can be restored: 100000-1, 200000-2"):
        again(played, at("1:100000-2", accept_duplicates=True))


def test_a_claim_that_needed_a_second_epoch_keeps_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore point in that epoch would count as its execution."""
    played = Played(tmp_path)
    unwritten(played)
    original = claim.claim_epoch

    def twice(*given: Any) -> int:
        original(*given)
        return original(*given)

    monkeypatch.setattr(claim, "claim_epoch", twice)
    again(played, at("1:1", accept_duplicates=True))
    assert [info.epoch for info in played.storage.list_checkpoints(JOB, 1)] == [FIRST]
    assert start_of(played, again(played), 1)[0].ref == CheckpointRef(FIRST, 1)
