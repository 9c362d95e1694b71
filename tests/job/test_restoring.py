"""What a person may ask of a restore, and what of it stands in a manifest."""

import json
from typing import Any

import pytest

from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import JobError, StoredValueError, UsageError
from seatunnel_core.job.manifest import Manifest, Seat
from seatunnel_core.job.restoring import Asked, ChosenCheckpoint, Restore, SavepointName
from seatunnel_storage_api.state import CheckpointRef

SINK_KIND, SOURCE_KIND = Kind.SINK, Kind.SOURCE


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("7", (None, None, 7)),
        ("100000-7", (None, 100_000, 7)),
        ("100000/7", (None, 100_000, 7)),
        ("2:7", (2, None, 7)),
        ("12:200001-7", (12, 200_001, 7)),
    ],
)
def test_a_checkpoint_is_named_as_the_lists_show_it(written: str, parts: Any) -> None:
    chosen = ChosenCheckpoint.parse(written)
    assert (chosen.pipeline, chosen.epoch, chosen.checkpoint_id) == parts
    assert chosen.written == written


@pytest.mark.parametrize("written", ["", "latest", "1:2:3", "1-2-3", "-7", "7 ", "٧", "1:", "-1:7", "1.5"])
def test_what_names_no_checkpoint_is_answered_with_how_one_is_written(written: str) -> None:
    with pytest.raises(
        UsageError, match="such as 100000-7; if the job has several pipelines, put the pipeline number before it"
    ):
        ChosenCheckpoint.parse(written)


def test_a_savepoint_of_another_job() -> None:
    assert SavepointName.parse("9148/before-2.0") == SavepointName(job_id="9148", name="before-2.0")
    assert str(SavepointName.parse("a/1")) == "a/1"


@pytest.mark.parametrize("written", ["", "a", "/a", "a/", "a/b/c", "../a", "a/.b", "a b/c"])
def test_what_names_no_savepoint_is_answered_with_how_one_is_written(written: str) -> None:
    with pytest.raises(UsageError, match="use JOB_ID/NAME"):
        SavepointName.parse(written)


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(UsageError, match="specify only one of them"):
        Restore(checkpoints=(ChosenCheckpoint.parse("7"),), savepoint="x")
    with pytest.raises(UsageError, match="Set only one"):
        Restore(retract=True, accept_duplicates=True)


def test_what_is_asked_for() -> None:
    assert not Restore().goes_back
    assert Restore(savepoint="x").goes_back
    assert Restore(checkpoints=(ChosenCheckpoint.parse("7"),)).goes_back
    ways = Restore(), Restore(retract=True), Restore(accept_duplicates=True)
    assert [each.rewind for each in ways] == ["refused", "retracted", "accepted"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"from_storage": "x.zip"}, 'also pass from_savepoint="JOB_ID/NAME"'),
        ({"from_savepoint": "a/b", "job_id": "c"}, "starts a new job"),
        ({"from_savepoint": "a/b", "checkpoints": "7"}, "starts a new job"),
        ({"from_savepoint": "a/b", "savepoint": "c"}, "starts a new job"),
        ({"from_savepoint": "a/b", "take_over": True}, "starts a new job"),
        ({"from_savepoint": "a/b", "retract": True}, r"st.Restore\(JOB_ID, savepoint=NAME, retract=True\)"),
    ],
)
def test_a_savepoint_of_another_job_begins_a_new_one(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Restore(**wrong)


def test_checkpoints_and_savepoints_are_given_as_text() -> None:
    one, several = Restore("42", checkpoints="100000-7"), Restore("42", checkpoints=["1:7", "2:8"])
    assert one.checkpoints == (ChosenCheckpoint.parse("100000-7"),)
    assert several.checkpoints == (ChosenCheckpoint.parse("1:7"), ChosenCheckpoint.parse("2:8"))
    begun = Restore(from_savepoint="old/end", from_storage="x.zip")
    assert begun.from_savepoint == SavepointName(job_id="old", name="end")
    assert Restore(from_savepoint=begun.from_savepoint) == Restore(from_savepoint="old/end")


ASKED = Asked(ref=CheckpointRef(100_000, 7), rewind="retracted", since=300_000)


def test_it_stands_in_the_manifest_until_it_is_done() -> None:
    seats = {"out": Seat(1, SINK_KIND, 0, dropped=True), "in": Seat(1, SOURCE_KIND, 0)}
    manifest = Manifest(job_name="x", seats=seats, asked={1: ASKED}, moved_to="new", settled_below=200_000)
    encoded = manifest.to_bytes()
    assert Manifest.from_bytes(encoded) == manifest
    assert json.loads(encoded)["format"] == 2, "an older version would forget it, and lose or double rows"
    assert json.loads(Manifest(job_name="x", seats=seats).to_bytes())["format"] == 1


def test_what_was_dropped_once_is_not_missed_again_and_keeps_its_place() -> None:
    seats = {"out": Seat(1, SINK_KIND, 0), "in": Seat(1, SOURCE_KIND, 0), "gone": Seat(2, SOURCE_KIND, 0)}
    manifest = Manifest(job_name="x", seats=seats).without({"gone"})
    assert manifest.seats["gone"] == Seat(2, SOURCE_KIND, 0, dropped=True)
    assert manifest.dropped(()) == ("in", "out")
    assert manifest.without(()).dropped(()) == ("gone", "in", "out"), "it came back in between"


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        {"ref": [1], "rewind": "refused", "since": 1},
        {"ref": [1, "2"], "rewind": "refused", "since": 1},
        {"ref": [1, 2], "rewind": "perhaps", "since": 1},
        {"ref": [1, 2], "rewind": "refused"},
    ],
)
def test_what_is_not_what_was_asked_is_refused(record: Any) -> None:
    with pytest.raises(StoredValueError):
        Asked.from_record(record)


def test_a_manifest_with_a_wrong_one_is_refused() -> None:
    content = {"format": 2, "job_name": "x", "vertices": {}, "ended": None, "asked": {"0": ASKED.record()}}
    with pytest.raises(JobError, match="is invalid"):
        Manifest.from_bytes(json.dumps(content).encode())


def test_where_a_source_looked_first_is_kept() -> None:
    manifest = Manifest(job_name="x", seats={"in": Seat(1, SOURCE_KIND, 0)}).reading({"in": "/first"})
    assert manifest.reading({"in": "/second"}).seats["in"].reads == "/first"
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
