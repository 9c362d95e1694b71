"""A savepoint of one job as the beginning of another."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, Claim, claim_again, claim_new
from seatunnel_core.claiming.handover import ForeignSavepoint, claim_with_savepoint
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore, SavepointName
from seatunnel_core.work.committable import Committable
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.claiming.tables import FIRST, JOB, Played


def move(played: Played, name: str = "mine", job_id: str = "new", text: str = "", **how: Any) -> Claim:
    begin_with = ForeignSavepoint(savepoint=SavepointName(job_id=JOB, name=name), **how)
    return claim_with_savepoint(played.storage, job_id, played.planner(text or played.text("a")), begin_with)


@pytest.fixture
def stopped(one: Played) -> Played:
    one.savepoint("mine", {1: one.store(4, 6, kind=CheckpointType.SAVEPOINT)}, stopped=True)
    return one


def began_with(played: Played, job_id: str = "new") -> VertexStates:
    """The state of the new job's first pipeline before its first process begins."""
    state = played.storage.get_latest_checkpoint(job_id, 1)
    assert state is not None
    assert state.checkpoint_type is CheckpointType.SAVEPOINT
    assert state.epoch < FIRST
    return codec.decode(state.states)


def test_a_stopped_job_is_moved_and_never_resumed(stopped: Played) -> None:
    claim = move(stopped)
    assert claim.version == 1
    assert began_with(stopped).sources["a"].cursor == 6
    assert stopped.storage.get_attachment("new", stopped.frozen) == b"frozen"
    assert stopped.manifest().moved_to == "new"
    assert stopped.storage.newest_epoch(JOB, 1) == 3 * EPOCHS_PER_VERSION, "whoever still runs it is fenced off"
    assert "was moved to new" in stopped.refusal(Restore())
    assert "matched by name: 2" in claim.notes[0]
    assert "marked as moved to new" in claim.notes[1]


def test_what_the_old_job_took_back_is_not_taken_back_again(one: Played) -> None:
    """A finished pipeline that had gone back keeps its restore point as its last checkpoint, and so as its part of the
    savepoint. The new job would ask its sinks to take rows back, and fail where they cannot."""
    one.storage.acquire_epoch(JOB, 1, 2 * FIRST)
    owing = one.store(4, 4, epoch=2 * FIRST, kind=CheckpointType.COMPLETED_POINT, retracting=CheckpointRef(FIRST, 2))
    one.savepoint("mine", {1: owing}, stopped=True)
    move(one)
    assert began_with(one).retracting is None


def test_a_new_job_that_was_killed_before_it_began_is_resumed_like_any_other(stopped: Played) -> None:
    move(stopped)
    again = claim_again(stopped.storage, "new", stopped.planner(stopped.text("a")))
    assert isinstance(again, Claim)
    assert again.restores[1] == RestoreRequest()
    assert began_with(stopped).sources["a"].cursor == 6


def test_a_move_that_was_interrupted_goes_on_under_the_same_id(stopped: Played) -> None:
    """Killed after the old job was told, and before the new one was there."""
    stopped.write(moved_to="new")
    with pytest.raises(UsageError, match=r"Give the sinks different targets"):
        move(stopped, job_id="third")
    assert move(stopped).version == 1
    with pytest.raises(UsageError, match="the job new exists already"):
        move(stopped)


def test_a_job_that_went_on_is_not_doubled(stopped: Played) -> None:
    stopped.store(5, 8)
    with pytest.raises(UsageError) as raised:
        move(stopped)
    assert "the job job-1 continued after the savepoint: pipeline 1 has checkpoint 100000-5, and 'a_out'" in str(
        raised.value
    )
    assert "-r job-1 --restore-with-savepoint mine --retract" in str(raised.value)
    assert stopped.storage.get_manifest("new") is None
    move(stopped, text=stopped.text("a", targets="elsewhere"))
    assert began_with(stopped).sources["a"].cursor == 6
    assert stopped.manifest().moved_to is None, "the old job goes on, and so may the new one"
    assert "may be published twice" in " ".join(move(stopped, job_id="twice", accept_duplicates=True).notes)


def test_a_savepoint_that_was_taken_with_a_final_checkpoint_does_not_go_on_after_it(one: Played) -> None:
    """A pipeline finishes while one savepoint is taken; the one that stops the job later names its final checkpoint,
    behind which the first savepoint lies, with the same cut."""
    final = one.store(4, 9, kind=CheckpointType.COMPLETED_POINT)
    one.savepoint("first", {1: one.store(5, 9, kind=CheckpointType.SAVEPOINT)})
    one.savepoint("mine", {1: final}, stopped=True)
    move(one)
    assert one.manifest().moved_to == "new"


def test_a_savepoint_of_a_job_that_went_on_at_once_is_no_proof(one: Played) -> None:
    one.savepoint("mine", {1: one.store(4, 6, kind=CheckpointType.SAVEPOINT)})
    with pytest.raises(UsageError, match="the job job-1 continued after the savepoint, and 'a_out' may write to"):
        move(one)


def test_what_is_not_there_is_answered_with_what_is(stopped: Played) -> None:
    with pytest.raises(UsageError, match="the job job-1 has no savepoint other; it has mine"):
        move(stopped, "other")
    begin_with = ForeignSavepoint(savepoint=SavepointName(job_id="nobody", name="1"))
    with pytest.raises(UsageError, match=r"there is no job nobody in .*; it has job-1"):
        claim_with_savepoint(stopped.storage, "new", stopped.planner(stopped.text("a")), begin_with)


def test_names_that_do_not_fit_are_reported(stopped: Played) -> None:
    with pytest.raises(
        UsageError, match=r"contains state for a, a_out, but no source or sink of this job has one of these names"
    ):
        move(stopped, text=stopped.text("x"))


def test_a_table_that_stays_behind_takes_a_word(two: Played) -> None:
    refs = {
        1: two.store(3, 2, kind=CheckpointType.SAVEPOINT),
        2: two.store(3, 2, table="b", pipeline=2, kind=CheckpointType.SAVEPOINT),
    }
    two.savepoint("mine", refs, stopped=True)
    with pytest.raises(UsageError, match="the savepoint also has 'b', 'b_out'"):
        move(two)
    claim = move(two, allow_non_restored_state=True)
    assert set(claim.job.manifest.seats) == {"a", "a_out"}
    assert set(two.storage.scan_job("new")) == {1}


def test_an_enumeration_that_is_missing_is_refused_before_anything_is_stored(two: Played) -> None:
    """What a refused move had stored for another pipeline would be where a job starts that is given the id later."""
    states = VertexStates(
        sources={"b": SourceState(attachment="0" * 64, cursor=1, total=9)},
        tasks={"b": TaskState()},
        sinks={"b_out": SinkState(save_mode_pending=False)},
    )
    two.storage.store_checkpoint(
        PipelineState(
            job_id=JOB, pipeline_id=2, epoch=FIRST, checkpoint_id=3, checkpoint_type=CheckpointType.SAVEPOINT,
            states=codec.encode(states),
        )
    )  # fmt: skip
    parts = {1: two.store(3, 2, kind=CheckpointType.SAVEPOINT), 2: CheckpointRef(FIRST, 3)}
    two.savepoint("mine", parts, stopped=True)
    with pytest.raises(UsageError, match=r"pipeline 2 .* cannot be transferred"):
        move(two, text=two.text("a", "b"))
    assert two.manifest().moved_to is None
    assert not two.storage.scan_job("new")


def test_a_sink_that_is_gone_with_rows_to_publish_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """The protocol would refuse it too, when Spark runs."""
    played = Played(tmp_path)
    before = played.text("a").replace("sink { ", "sink { Console { plugin_input = a, name = shown }\n")
    claim_new(played.storage, JOB, played.planner(before))
    played.storage.acquire_epoch(JOB, 1, FIRST)
    waiting = Committable(id=f"0-{FIRST}-1", epoch=FIRST, unit=1, source="a", rows=1, bytes=1, body={})
    for number, uncommitted in ((1, (waiting,)), (2, ())):
        states = VertexStates(
            sources={"a": SourceState(attachment=played.frozen, cursor=1, total=9)},
            tasks={"a": TaskState(next_unit=2)},
            sinks={
                "a_out": SinkState(save_mode_pending=False),
                "shown": SinkState(save_mode_pending=False, uncommitted=uncommitted),
            },
        )
        state = PipelineState(
            job_id=JOB, pipeline_id=1, epoch=FIRST, checkpoint_id=number, checkpoint_type=CheckpointType.CHECKPOINT,
            states=codec.encode(states),
        )  # fmt: skip
        played.storage.store_checkpoint(state)
        if uncommitted:
            assert "'shown'" in played.refusal(Restore())
            said = played.refusal(Restore(allow_non_restored_state=True))
            assert "sink 'shown' was removed from the job but may have 1 committables to publish" in said
    claim = played.restore(Restore(allow_non_restored_state=True))
    assert claim.restores[1].allow_non_restored
    assert claim.notes == ("matched by name: 2; dropped, with their stored state: shown",)
    assert played.restore(Restore()).restores[1].allow_non_restored, "until a state without it is stored"


@pytest.mark.parametrize(
    ("database", "more", "is_known"),
    [("x", "", True), ("x", "enable_upsert = false", True), ("y", "", False)],
    ids=["the same options", "another option", "another database"],
)
def test_a_new_job_knows_the_tables_with_rows_unless_its_target_is_another_one(
    tmp_path: Path, database: str, more: str, is_known: bool
) -> None:
    """With another option alone, a table that was lost was created again without its rows."""
    played = Played(tmp_path)

    def text(database: str, more: str = "") -> str:
        options = f'url = "jdbc:sqlite:{tmp_path}/{database}", generate_sink_sql = true, table = t, primary_keys = [a]'
        return played.text("a", sink="Jdbc").replace("name = a_out,", f"name = a_out, {options}, {more}")

    claim_new(played.storage, JOB, played.planner(text("x")))
    played.storage.acquire_epoch(JOB, 1, FIRST)
    with pytest.MonkeyPatch.context() as patched:
        filled = SinkState(save_mode_pending=False, rows_committed=6, published_to={"t": ""})
        patched.setattr("tests.claiming.tables.SinkState", lambda **_: filled)
        played.savepoint("mine", {1: played.store(4, 6, kind=CheckpointType.SAVEPOINT)}, stopped=True)
    move(played, text=text(database, more))
    assert began_with(played).sinks["a_out"].published_to == ({"t": ""} if is_known else {})
