"""Committables name their target: what is staged goes where it was meant, or the restore is refused by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexStates,
)
from seatunnel_core.claiming.claim import claim_new
from seatunnel_core.job.binding import Binding, differences, followed, from_epoch, in_epoch
from seatunnel_core.job.restoring import Restore
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.claiming.tables import FIRST, JOB, Played, at

JDBC = (
    'url = "jdbc:sqlite:{db}", generate_sink_sql = true, table = t, primary_keys = [a], is_exactly_once = true, '
    "password = hush"
)
KAFKA = 'topic = t, bootstrap.servers = "k:1", semantics = EXACTLY_ONCE, staging_path = "/stage"'
SPARK = 'format = parquet, path = "/rows", staging_path = "/stage"'


def other(options: str, old: str, new: str) -> str:
    assert old in options
    return options.replace(old, new)


@define
class Case(Played):
    """One table into sinks that are told something else at each start."""

    def sinks(self, *blocks: str) -> str:
        newline = "\n"
        source = "FakeSource { plugin_output = a, row.num = 9, schema { fields { a = int } } }\n"
        return f"env {{ job.name = case }}\nsource {{ {source} }}\nsink {{ {newline.join(blocks)} }}"

    def began(self, *blocks: str) -> None:
        claim_new(self.storage, JOB, self.planner(self.sinks(*blocks)))
        self.storage.acquire_epoch(JOB, 1, FIRST)

    def stored(
        self,
        number: int,
        names: Sequence[str],
        *,
        units: Sequence[int] = (),
        held: Sequence[int] = (),
        kind: CheckpointType = CheckpointType.CHECKPOINT,
        epoch: int = FIRST,
        base: CheckpointRef | None = None,
    ) -> CheckpointRef:
        if epoch > FIRST:
            self.storage.acquire_epoch(JOB, 1, epoch)

        def staged(unit: int) -> Committable:
            body = {"files": [[f"{JOB}-u{unit}", ""]]}
            return Committable(id=f"0-{epoch}-{unit}", epoch=epoch, unit=unit, source="a", rows=1, bytes=1, body=body)

        split = Split(index=0, weight_bytes=0, rows=1, body={})
        units_held = tuple(
            HeldUnit(unit=WorkUnit(number=unit, splits=(split,)), committables={name: staged(unit) for name in names})
            for unit in held
        )
        states = VertexStates(
            sources={"a": SourceState(attachment=self.frozen, cursor=1, total=9)},
            tasks={"a": TaskState(next_unit=9, units=units_held, units_done=9, splits_done=9, rows_written=9)},
            sinks={name: SinkState(save_mode_pending=False, uncommitted=tuple(map(staged, units))) for name in names},
        )
        state = PipelineState(
            job_id=JOB, pipeline_id=1, epoch=epoch, checkpoint_id=number, checkpoint_type=kind,
            states=codec.encode(states), base=base,
        )  # fmt: skip
        self.storage.store_checkpoint(state)
        return state.ref

    def again(self, restore: Restore, *blocks: str) -> Any:
        from seatunnel_core.claiming.claim import Claim, claim_again

        claim = claim_again(self.storage, JOB, self.planner(self.sinks(*blocks)), restore)
        assert isinstance(claim, Claim)
        return claim

    def refused(self, restore: Restore, *blocks: str) -> str:
        from seatunnel_core.errors import UsageError

        before = self.storage.get_manifest(JOB)
        with pytest.raises(UsageError) as raised:
            self.again(restore, *blocks)
        assert self.storage.get_manifest(JOB) == before, "refused, and yet the job was claimed"
        return str(raised.value)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def file(path: str, name: str = "out", more: str = "") -> str:
    named = f"name = {name}, " if name else ""
    return f'LocalFile {{ plugin_input = a, {named}path = "{path}", file_format_type = json, {more} }}'


def test_a_changed_path_is_refused_while_something_may_wait_for_its_commit(case: Case) -> None:
    """The new sink looked into its own staging folder, found nothing there, and took that for published: rows were
    lost, and the job ended with exit code 0."""
    case.began(file("/data/x"))
    case.stored(1, ["out"], units=[1, 2])
    said = case.refused(Restore(), file("/data/y"))
    assert "the sink 'out' has 2 units staged that may still be unpublished" in said
    assert "its path was '/data/x' and is '/data/y'" in said
    assert "stop the job with a savepoint" in said
    case.again(Restore(), file("/data/x"))
    case.stored(2, ["out"], epoch=2 * FIRST)
    case.again(Restore(), file("/data/y"))


def test_sinks_without_names_that_change_places_are_refused(case: Case) -> None:
    """Their names are made of their places, so each got the other one's committables."""
    case.began(file("/data/x", ""), file("/data/y", ""))
    case.stored(1, ["LocalFile-sink-a", "LocalFile-sink-a-2"], units=[1])
    said = case.refused(Restore(), file("/data/y", ""), file("/data/x", ""))
    assert said.count("its path was") == 2
    said = case.refused(Restore(), file("/data/z", ""), file("/data/x", ""), file("/data/y", ""))
    assert "'LocalFile-sink-a'" in said
    case.again(Restore(), file("/data/x", ""), file("/data/y", ""))


@pytest.mark.parametrize(
    ("plugin", "options", "changed", "said"),
    [
        (
            "Jdbc",
            JDBC,
            other(JDBC, "is_exactly_once = true", "is_exactly_once = false"),
            "is_exactly_once was 'true' and is not set",
        ),
        ("Jdbc", JDBC, other(JDBC, "{db}", "{db}2"), "its url was 'sqlite "),
        ("Jdbc", JDBC, f"{JDBC}, enable_upsert = false", "enable_upsert was not set and is 'false'"),
        (
            "Jdbc",
            JDBC,
            other(JDBC, "generate_sink_sql = true, table = t", 'query = "INSERT INTO t VALUES (?)"'),
            "query was not set",
        ),
        ("Kafka", KAFKA, other(KAFKA, "EXACTLY_ONCE", "NON"), "semantics was 'EXACTLY_ONCE' and is not set"),
        ("Kafka", KAFKA, other(KAFKA, "/stage", "/other"), "staging_path was '/stage' and is '/other'"),
        ("Kafka", KAFKA, f"{KAFKA}, transaction_prefix = p", "transaction_prefix was not set and is 'p'"),
        ("Kafka", KAFKA, other(KAFKA, "k:1", "k:2"), "bootstrap.servers was 'k:1' and is 'k:2'"),
        ("Spark", SPARK, other(SPARK, "/stage", "/other"), "staging_path was '/stage' and is '/other'"),
        ("Spark", SPARK, other(SPARK, "/rows", "/other"), "path was '/rows' and is '/other'"),
    ],
)
def test_what_a_committable_means_does_not_change(
    case: Case, plugin: str, options: str, changed: str, said: str
) -> None:
    """With ``is_exactly_once`` switched off, the staged rows of the base were dropped without a word."""
    db = str(case.folder / "x.db")

    def block(text: str) -> str:
        return f"{plugin} {{ plugin_input = a, name = out, {text.replace('{db}', db)} }}"

    case.began(block(options))
    case.stored(1, ["out"], units=[1])
    refusal = case.refused(Restore(), block(changed))
    assert said in refusal
    assert "hush" not in refusal
    case.again(Restore(), block(f"{options}, parallelism = 3"))


def test_a_sink_of_another_kind_under_the_same_name_is_refused(case: Case) -> None:
    case.began(file("/data/x"))
    case.stored(1, ["out"], units=[1])
    said = case.refused(Restore(), "Console { plugin_input = a, name = out }")
    assert "its plugin was 'LocalFile' and is 'Console'" in said


def test_a_unit_held_back_for_order_is_a_committable_too(case: Case) -> None:
    case.began(file("/data/x"))
    case.stored(1, ["out"], held=[4])
    assert "has 1 unit staged" in case.refused(Restore(), file("/data/y"))


def test_after_a_savepoint_everything_may_change(case: Case) -> None:
    """Its cut is that of the checkpoint before it, which names what was staged: all of it is published since, and a
    unit that was held back is read again."""
    case.began(file("/data/x"))
    case.stored(1, ["out"], units=[1], held=[4])
    case.stored(2, ["out"], kind=CheckpointType.SAVEPOINT)
    assert case.again(Restore(), file("/data/y")).restores[1].drops_staged
    assert not case.again(Restore(), file("/data/x")).restores[1].drops_staged


def test_what_an_older_version_wrote_down_is_compared_too(case: Case) -> None:
    """Its manifest has the folders in which sinks staged, and no bindings."""
    case.began(file("/data/x"))
    case.stored(1, ["out"], units=[1])
    seats = {name: evolved(seat) for name, seat in case.manifest().seats.items()}
    case.write(seats=seats)
    assert "its target was '/data/x' and is '/data/y'" in case.refused(Restore(), file("/data/y"))
    case.again(Restore(), file("/data/x"))
    assert case.manifest().seats["out"].bindings[-1].since > FIRST


def evolved(seat: Any) -> Any:
    from attrs import evolve

    return evolve(seat, bindings=())


def test_published_rows_are_not_looked_for_by_names_of_today(case: Case) -> None:
    """A retraction found nothing under the new names, and rows came twice."""
    before = file("/data/x", more='custom_filename = true, file_name_expression = "part-${transactionId}"')
    case.began(before)
    for number in (1, 2):
        case.stored(number, ["out"])
    back = at("1", retract=True)
    said = case.refused(back, file("/data/x"))
    assert "the sink 'out' cannot find its published output" in said
    assert "file_name_expression was 'part-${transactionId}' and is not set" in said
    assert "path was '/data/x'" in case.refused(back, other(before, "/data/x", "/data/y"))
    assert case.again(back, before).restores[1].rewind.value == "retracted"
    case.again(at("1", accept_duplicates=True), file("/data/y"))


def test_a_change_that_was_made_and_undone_leaves_files_that_are_not_found(case: Case) -> None:
    case.began(file("/data/x"))
    case.stored(1, ["out"])
    case.again(Restore(), file("/data/y"))
    case.stored(2, ["out"], epoch=2 * FIRST, base=CheckpointRef(FIRST, 1))
    assert "was '/data/y' and is '/data/x'" in case.refused(at("1", retract=True), file("/data/x"))


def test_a_sink_that_is_gone_takes_nothing_back(case: Case) -> None:
    case.began(file("/data/x"), file("/data/y", "second"))
    for number in (1, 2):
        case.stored(number, ["out", "second"])
    how = at("1", retract=True, allow_non_restored_state=True)
    assert "the sink 'second' was removed from the job and cannot roll back" in case.refused(how, file("/data/x"))


def test_a_pipeline_is_not_given_up_because_its_staging_folder_cannot_be_found(tmp_path: Path) -> None:
    """An absent folder counted as a published one: another machine's disk, or a bucket, held the rows."""
    two = Played(tmp_path)
    two.begin("a", "b")
    two.store(1, 1)
    body = {"files": [["a name", ""]]}
    waiting = Committable(id=f"0-{FIRST}-1", epoch=FIRST, unit=1, source="b", rows=1, bytes=1, body=body)
    states = VertexStates(
        sources={"b": SourceState(attachment=two.frozen, cursor=1, total=9)},
        tasks={"b": TaskState(next_unit=2)},
        sinks={"b_out": SinkState(save_mode_pending=False, uncommitted=(waiting,))},
    )
    two.storage.store_checkpoint(
        PipelineState(
            job_id=JOB, pipeline_id=2, epoch=FIRST, checkpoint_id=1, checkpoint_type=CheckpointType.CHECKPOINT,
            states=codec.encode(states),
        )
    )  # fmt: skip
    drop = Restore(allow_non_restored_state=True)
    said = two.refusal(drop, "a")
    assert "pipeline 2 has 1 unit staged for the sink 'b_out' that may still be unpublished" in said
    (tmp_path / "out" / "b" / ".seatunnel" / JOB / "2" / str(FIRST)).mkdir(parents=True)
    two.restore(drop, "a")


def test_bindings_are_known_by_epoch() -> None:
    first, second = Binding(terms={"path": "/a"}, since=1), Binding(terms={"path": "/b"}, tracks={"n": "x"}, since=5)
    kept = followed(followed((), first), Binding(terms={"path": "/a"}, since=3))
    assert kept == (first,)
    both = followed(kept, second)
    assert [in_epoch(both, epoch) for epoch in (0, 1, 4, 5, 9)] == [None, first, first, second, second]
    assert [list(from_epoch(both, epoch)) for epoch in (0, 4, 5)] == [[first, second], [first, second], [second]]
    assert [Binding.from_record(each.record()) for each in both] == list(both)
    assert differences({"a": "1", "b": "2"}, {"b": "3"}) == ["a was '1' and is not set", "b was '2' and is '3'"]


def test_a_start_learns_which_options_of_its_sinks_differ(tmp_path: Path) -> None:
    """What the engine before stores until it is fenced off is compared with that, too."""
    case = Case(tmp_path)
    case.began(file("/data/x"))
    case.stored(1, ["out"])
    assert case.again(Restore(), file("/data/x")).restores[1].changed_bindings == {}
    changed = case.again(Restore(), file("/data/y")).restores[1].changed_bindings
    assert changed["out"][1:] == ((FIRST, "path was '/data/x' and is '/data/y'"),)
    back = case.again(Restore(), file("/data/x")).restores[1].changed_bindings
    assert [words for _, words in back["out"][1:]] == ["", "path was '/data/y' and is '/data/x'"]


def test_a_start_learns_which_sinks_may_have_another_target(tmp_path: Path) -> None:
    """A sink that stages elsewhere, or does not stage any more, publishes to the same tables. Nothing is known of the
    target of a statement; and another plugin may give its target the same name."""
    told = Case(tmp_path)

    def jdbc(more: str = "", database: str = "a") -> str:
        return f"Jdbc {{ plugin_input = a, name = out, {other(JDBC, '{db}', f'{tmp_path}/{database}')} {more} }}"

    def moved(sink: str) -> list[bool]:
        request = evolve(told.again(Restore(), sink).restores[1], since=10 * FIRST)
        current = told.manifest().seats["out"].bindings[-1].since
        epochs = [each.since for each in told.manifest().seats["out"].bindings if each.since < current]
        changed = request.changed_targets
        return [request.may_have_moved_since("out", epoch) if changed else False for epoch in epochs]

    told.began(jdbc())
    told.stored(1, ["out"])
    assert moved(jdbc()) == []
    assert moved(jdbc(", enable_upsert = false")) == [False]
    assert moved(jdbc(database="b")) == [True, True]
    assert moved(jdbc()) == [False, False, True]
    query = ', query = "INSERT INTO t VALUES (:a)"'
    without = other(jdbc(query), ", generate_sink_sql = true", "").replace("table = t, ", "")
    assert moved(without) == [True] * 4
