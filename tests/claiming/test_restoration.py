"""What a restore refuses before anything starts, with what to write instead, and what it remembers until it is done."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind
from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, Claim, claim_again
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Asked, Restore
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.reporting.report_record import report_record
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.claiming.tables import FIRST, JOB, Played, at


def test_without_a_wish_each_pipeline_goes_on_from_its_latest(two: Played) -> None:
    claim = two.restore(Restore(), "a", "b")
    assert set(claim.restores.values()) == {RestoreRequest()}
    assert claim.notes == ()


@pytest.mark.parametrize("written", ["2", "100000-2", "100000/2", "1:2"])
def test_a_checkpoint_is_chosen_as_it_is_shown(one: Played, written: str) -> None:
    claim = one.restore(at(written, retract=True))
    assert claim.restores[1] == RestoreRequest(ref=CheckpointRef(FIRST, 2), rewind=Rewind.RETRACTED)
    assert claim.notes == (
        "Pipeline 1 (a -> a_out) is restored from 100000-2: up to 2 rows are rolled back and read again.",
    )


def test_one_that_is_not_there_is_answered_with_those_that_are(one: Played) -> None:
    said = one.refusal(at("7"))
    assert said == (
        "7: Pipeline 1 (a -> a_out): checkpoint 7 does not exist. These can be restored: 100000-1, 100000-2, 100000-3"
    )


def test_one_that_a_restore_went_back_behind_is_void(one: Played) -> None:
    one.storage.acquire_epoch(JOB, 1, 2 * FIRST)
    one.store(4, 4, epoch=2 * FIRST, base=CheckpointRef(FIRST, 2), kind=CheckpointType.RESTORE_POINT)
    said = one.refusal(at("3", accept_duplicates=True))
    assert "3: Pipeline 1 (a -> a_out): checkpoint 3 is orphaned, because an older checkpoint was restored" in said
    assert "These can be restored: 100000-1, 100000-2, 200000-4" in said


def test_a_rewind_says_what_would_be_doubled_and_both_ways_out(one: Played) -> None:
    one.store(4, 8, uncommitted=1)
    said = one.refusal(at("2"))
    assert "Pipeline 1 (a -> a_out): checkpoint 100000-2 is not the latest: 100000-3, 100000-4 is newer" in said
    assert "up to 5 rows published since then would be published twice" in said, (
        "8 that are, one that is about to be, 4 that were"
    )
    assert "retract=True" in said
    assert "accept_duplicates=True" in said


def test_the_latest_itself_is_no_rewind(one: Played) -> None:
    assert one.restore(at("3")).notes == ("Pipeline 1 (a -> a_out) starts from its latest checkpoint, 100000-3.",)


def test_a_checkpoint_whose_savepoint_is_the_latest_is_no_rewind(one: Played) -> None:
    one.store(4, 6, kind=CheckpointType.SAVEPOINT)
    assert one.restore(at("3")).notes == ("Pipeline 1 (a -> a_out) starts from its latest checkpoint, 100000-4.",)


def test_a_checkpoint_is_not_older_than_its_own_savepoint(one: Played) -> None:
    """Seen in a message that told one checkpoint more than a person counts who looks at the list."""
    one.store(4, 6, kind=CheckpointType.SAVEPOINT)
    one.store(5, 8)
    said = "checkpoint 100000-3 is not the latest: 100000-5 is newer, and up to 2 rows"
    assert said in one.refusal(at("3"))


def test_a_state_whose_data_the_source_no_longer_has_is_refused_before_anything_changes(
    one: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require_readable(_self: FakeSource, cursor: PollCursor, _unread: Sequence[Split]) -> None:
        if cursor["offset"] < 5:
            raise SourceChangedError(f"the messages before 5 were removed, and reading continues at {cursor['offset']}")

    monkeypatch.setattr(FakeSource, "require_readable", require_readable, raising=False)
    for number, offset in ((4, 4), (5, 5), (6, 6)):
        one.store(number, 3, memory={"offset": offset})
    stored = one.storage.get_manifest(JOB)
    said = one.refusal(at("4", accept_duplicates=True))
    assert "checkpoint 100000-4 of pipeline 1 (a -> a_out) cannot be restored: the source 'a': the messages" in said
    assert "reading continues at 4" in said
    assert one.storage.get_manifest(JOB) == stored
    assert one.restore(at("5", accept_duplicates=True)).restores[1].rewind is Rewind.ACCEPTED


def test_rows_are_taken_back_only_from_sinks_that_can(one: Played) -> None:
    said = one.refusal(at("2", retract=True), sink="Console")
    assert "'a_out' cannot. With accept_duplicates=True, up to 2 rows will be duplicated there" in said
    assert one.restore(at("2", accept_duplicates=True), sink="Console").restores[1].rewind is Rewind.ACCEPTED


def test_a_damaged_one_is_refused_and_a_damaged_latest_hides_only_the_number(one: Played) -> None:
    played = Played(one.folder, Damaged(one.storage, 2))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"checkpoint 100000-2 of pipeline 1 .* cannot be restored: flipped"):
        claim_again(played.storage, JOB, played.planner(played.text("a")), at("2", retract=True))
    played = Played(one.folder, Damaged(one.storage, 3))  # type: ignore[arg-type]
    claim = claim_again(played.storage, JOB, played.planner(played.text("a")), at("2", retract=True))
    assert isinstance(claim, Claim)
    assert "up to an unknown number of rows" in claim.notes[0]


class Damaged:
    """A storage one of whose checkpoints cannot be read."""

    def __init__(self, storage: MemoryStorage, damaged: int) -> None:
        self._storage, self._damaged = storage, damaged

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def load(self, info: Any) -> Any:
        from seatunnel_storage_api.errors import CheckpointCorruptedError

        if info.checkpoint_id == self._damaged:
            raise CheckpointCorruptedError("flipped")
        return self._storage.load(info)


# -- several pipelines


def test_of_several_pipelines_each_is_named(two: Played) -> None:
    said = two.refusal(at("1"), "a", "b")
    assert said == ("1: the job has 2 pipelines, so use PIPELINE:1 with one of 1 (a -> a_out), 2 (b -> b_out)")
    assert "the job has no pipeline 3; it has 1 (a -> a_out), 2 (b -> b_out)" in two.refusal(at("3:1"), "a", "b")
    assert "a second checkpoint for pipeline 1" in two.refusal(at("1:1", "1:2"), "a", "b")


def test_all_that_is_wrong_is_said_at_once(two: Played) -> None:
    said = two.refusal(at("1:1", "2:9", "3:1"), "a", "b")
    assert "Pipeline 1 (a -> a_out): checkpoint 100000-1 is not the latest: 100000-2" in said
    assert "2:9: Pipeline 2 (b -> b_out): checkpoint 9 does not exist" in said
    assert "3:1: the job has no pipeline 3" in said


def test_pipelines_that_are_not_named_go_on(two: Played) -> None:
    claim = two.restore(at("2:1", accept_duplicates=True), "a", "b")
    assert claim.restores == {
        1: RestoreRequest(),
        2: RestoreRequest(ref=CheckpointRef(FIRST, 1), rewind=Rewind.ACCEPTED),
    }


# -- savepoints of the job


def test_a_savepoint_is_that_of_all_pipelines(two: Played) -> None:
    two.savepoint("mine", {1: CheckpointRef(FIRST, 1), 2: CheckpointRef(FIRST, 2)})
    claim = two.restore(Restore(savepoint="mine", retract=True), "a", "b")
    assert {number: request.ref for number, request in claim.restores.items()} == {
        1: CheckpointRef(FIRST, 1),
        2: CheckpointRef(FIRST, 2),
    }
    assert "has no savepoint other; it has mine" in two.refusal(Restore(savepoint="other"), "a", "b")


def test_a_table_that_is_younger_than_the_savepoint_stays_where_it_is(two: Played) -> None:
    two.savepoint("mine", {1: CheckpointRef(FIRST, 2)})
    claim = two.restore(Restore(savepoint="mine"), "a", "b")
    assert claim.restores[2] == RestoreRequest()
    assert (
        claim.notes[0] == "Pipelines that are not in the savepoint mine continue from their current state: b -> b_out"
    )


def test_a_pipeline_that_had_finished_stays_finished(two: Played) -> None:
    """Its part was its final checkpoint, and the next start had one of its own: only the newest of them is kept, and
    the savepoint could not be restored any more. Simulated jobs found it."""
    two.write(savepoints=(JobSavepoint(name="mine", taken_at=1.0, stopped=False, finished=frozenset({2}), pipelines={
        1: CheckpointRef(FIRST, 1), 2: CheckpointRef(FIRST, 77)}),))  # fmt: skip
    two.store(9, 9, table="b", pipeline=2, kind=CheckpointType.COMPLETED_POINT)
    claim = two.restore(Restore(savepoint="mine", retract=True), "a", "b")
    assert claim.restores[1].ref == CheckpointRef(FIRST, 1)
    assert claim.restores[2] == RestoreRequest()
    assert "Pipelines that had finished in the savepoint mine remain finished: b -> b_out" in claim.notes


def test_a_pipeline_that_had_finished_and_has_gone_back_since_is_not_finished(two: Played) -> None:
    two.write(savepoints=(JobSavepoint(name="mine", taken_at=1.0, stopped=False, finished=frozenset({2}), pipelines={
        1: CheckpointRef(FIRST, 1), 2: CheckpointRef(FIRST, 77)}),))  # fmt: skip
    assert "checkpoint 100000-77 does not exist" in two.refusal(Restore(savepoint="mine", retract=True), "a", "b")


# -- until it is done


def test_a_process_that_is_killed_before_it_went_back_leaves_that_to_the_next(one: Played) -> None:
    one.restore(at("2", retract=True))
    claim = one.restore(Restore())
    assert claim.restores[1] == RestoreRequest(ref=CheckpointRef(FIRST, 2), rewind=Rewind.RETRACTED)
    one.storage.acquire_epoch(JOB, 1, 3 * FIRST)
    one.store(4, 4, epoch=3 * FIRST, base=CheckpointRef(FIRST, 2), kind=CheckpointType.RESTORE_POINT)
    claim = one.restore(Restore())
    assert claim.restores[1] == RestoreRequest()
    assert one.manifest().asked == {}


def test_who_asked_for_the_latest_and_was_killed_asked_for_nothing_that_lasts(one: Played) -> None:
    """The engine that was taken over stored one more: from then on every restore was refused, for going back unasked,
    with advice that did not help. Simulated jobs found it."""
    one.restore(at("3"))
    one.store(4, 5)
    assert one.restore(Restore()).restores[1] == RestoreRequest()
    one.write(asked={1: Asked(ref=CheckpointRef(FIRST, 3), rewind="refused", since=9 * FIRST)})
    assert one.restore(Restore()).restores[1] == RestoreRequest()


def test_what_was_asked_for_and_is_gone_is_not_asked_for_any_more(one: Played) -> None:
    """An engine that still ran pruned the checkpoint before the process that was asked for it had a restore point: from
    then on every plain restore was refused, although it was the command that the failure printed."""
    one.restore(at("1", retract=True))
    one.storage.delete_checkpoint(JOB, 1, 1)
    claim = one.restore(Restore())
    assert claim.restores[1] == RestoreRequest()
    assert claim.notes == (
        "Pipeline 1 (a -> a_out) does not restore 100000-1: an earlier start requested it, but the checkpoint has "
        "been removed since. The pipeline continues from its latest checkpoint",
    )
    assert one.manifest().asked == {}
    one.restore(at("2", retract=True))
    one.storage.delete_checkpoint(JOB, 1, 2)
    assert one.restore(at("3")).notes == ("Pipeline 1 (a -> a_out) starts from its latest checkpoint, 100000-3.",)


def test_what_is_asked_now_replaces_what_was_asked_before(one: Played) -> None:
    one.restore(at("1", retract=True))
    assert one.restore(at("3")).restores[1] == RestoreRequest(ref=CheckpointRef(FIRST, 3))


def test_a_job_that_has_ended_goes_back_and_needs_nothing_of_its_staging(one: Played) -> None:
    report = JobReport(job_id=JOB, name="j", outcome=JobOutcome.FINISHED, pipelines=(), started_at=1.0, ended_at=2.0)
    one.write(ended=report_record(report))
    assert isinstance(claim_again(one.storage, JOB, one.planner(one.text("a"))), JobReport)
    assert "retract=True" in one.refusal(at("2"))
    assert one.manifest().ended is not None
    one.restore(at("2", retract=True))
    assert one.manifest().ended is None
    assert one.manifest().settled_below == 3 * EPOCHS_PER_VERSION
    one.restore(Restore())
    assert one.manifest().settled_below == 3 * EPOCHS_PER_VERSION, "the next process must know it too"


@pytest.mark.parametrize(
    ("tables", "text", "said"),
    [
        (("b",), {}, "it adds 'b', 'b_out'; it lacks 'a', 'a_out'"),
        (("a", "b"), {}, "it adds 'b', 'b_out'."),
        (
            ("a",),
            {"targets": "elsewhere"},
            "'a_out' writes to {folder}/elsewhere/a; it previously wrote to {folder}/out/a",
        ),
    ],
)
def test_another_file_for_a_job_that_has_ended_is_refused(
    one: Played, tables: tuple[str, ...], text: dict[str, str], said: str
) -> None:
    """It printed the closing table of the job that had ended, with the exit code 0: as if the new rows were there."""
    report = JobReport(job_id=JOB, name="j", outcome=JobOutcome.FINISHED, pipelines=(), started_at=1.0, ended_at=2.0)
    one.write(ended=report_record(report))
    refusal = one.refusal(Restore(), *tables, **text)
    assert refusal.startswith(
        "the job job-1 (tables) has ended, but this job file differs from the job file of its last run: "
    )
    assert said.format(folder=one.folder) in refusal


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("a = int", ""),
        ("a = bigint", '\'{{"fields": {{"a": "int"}}}}\' and is \'{{"fields": {{"a": "bigint"}}}}\''),
        ("b = int", '"b"'),
        ("a = int, b = string", '"b"'),
        ("b = string, a = int", '"b"'),
    ],
)
def test_a_source_whose_columns_are_declared_otherwise_is_refused_before_a_row_moves(
    one: Played, fields: str, said: str
) -> None:
    """A column less ended in KeyError, another type left two types in one target, and one more was ignored."""
    text = one.text("a").replace("a = int", fields)
    restored = partial(claim_again, one.storage, JOB, one.planner(text), Restore())
    if not said:
        assert isinstance(restored(), Claim)
        return
    with pytest.raises(UsageError) as refused:
        restored()
    assert "the source 'a' has different columns than when it was first read: its schema was " in str(refused.value)
    assert said.format() in str(refused.value)
    assert "rename the source" in str(refused.value)


def test_the_order_of_columns_counts(one: Played) -> None:
    """A line of text has its values by their places."""
    before = one.manifest().seats
    one.write(seats={**before, "a": evolve(before["a"], columns={"schema": '{"fields": {"b": "int", "a": "int"}}'})})
    with pytest.raises(UsageError, match="has different columns"):
        claim_again(one.storage, JOB, one.planner(one.text("a").replace("a = int", "a = int, b = int")), Restore())


def test_what_an_older_version_did_not_write_down_is_not_missed(one: Played) -> None:
    one.write(seats={name: evolve(seat, columns=None) for name, seat in one.manifest().seats.items()})
    assert isinstance(claim_again(one.storage, JOB, one.planner(one.text("a")), Restore()), Claim)


# -- what has no state, or no vertex


def test_a_table_that_is_gone_takes_a_word_and_is_not_missed_again(two: Played) -> None:
    said = two.refusal(Restore(), "a")
    assert "the stored job job-1 also has 'b', 'b_out', which this job does not have" in said
    assert "allow_non_restored_state=True" in said
    claim = two.restore(Restore(allow_non_restored_state=True), "a")
    assert claim.notes == ("matched by name: 2; dropped, with their stored state: b, b_out",)
    assert two.restore(Restore(), "a").notes == ()
    assert two.restore(Restore(), "a", "b").notes == (), "it came back, to its own number"
    assert "also has 'b'" in two.refusal(Restore(), "a")


def test_a_table_that_is_new_takes_no_word_and_is_named(one: Played) -> None:
    assert one.restore(Restore(), "a", "b").notes == ("matched by name: 2; new, starting from the beginning: b, b_out",)


def test_rows_that_wait_for_their_commit_are_not_given_up(two: Played) -> None:
    two.store(3, 3, table="b", pipeline=2, uncommitted=1)
    folder = Path(staging_folder(str(two.folder / "out" / "b"), JOB, 2, FIRST))
    folder.mkdir(parents=True)
    staged = folder / f"{JOB}-p2-s0-o0-e{FIRST}-u1-a1-7-0.csv"
    staged.touch()
    said = two.refusal(Restore(allow_non_restored_state=True), "a")
    assert f"pipeline 2 has 1 file staged and not published yet, such as {staged}" in said
    staged.unlink()
    two.restore(Restore(allow_non_restored_state=True), "a")
