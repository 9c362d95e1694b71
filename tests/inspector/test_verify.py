"""Every byte is read, and what is damaged is named, with what can still be restored."""

import os
import random
from pathlib import Path

import pytest

from seatunnel_core.inspector import Verification, survey, verify
from seatunnel_storage_api import layout
from seatunnel_storage_api.inventory import Holding, HoldingKind
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.inspector.made import Made, everything


def verified(made: Made) -> Verification:
    return verify(made.storage, survey(made.storage))


def objects(made: Made) -> list[Path]:
    return [Path(holding.path) for holding in made.storage.holdings()]


def test_an_intact_storage(made: Made) -> None:
    seen: list[Holding] = []
    found = verify(made.storage, survey(made.storage), seen.append)
    assert found.sound
    assert found.objects == len(seen) == len(objects(made))
    assert found.size_bytes == sum(path.stat().st_size for path in objects(made))
    (verdict,) = found.verdicts
    assert verdict.sound
    assert verdict.words == "resumes from 200000-6"


def test_reading_changes_nothing(made: Made) -> None:
    before = everything(Path(made.storage.namespace))
    verified(made)
    assert everything(Path(made.storage.namespace)) == before


@pytest.mark.parametrize("seed", range(3))
def test_whatever_byte_is_flipped_is_found(made: Made, seed: int) -> None:
    rng = random.Random(seed)
    for path in objects(made):
        intact = path.read_bytes()
        damaged = bytearray(intact)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        found = verified(made)
        named = [damage.path for damage in found.damaged] + list(found.problems)
        assert any(str(path) in each for each in named), path
        path.write_bytes(intact)
    assert verified(made).sound


def test_a_damaged_latest_says_what_going_back_costs(made: Made) -> None:
    (job,) = survey(made.storage)
    path = made.damage(job.pipeline(1).find(CheckpointRef(200_000, 6)))
    found = verified(made)
    assert [damage.path for damage in found.damaged] == [str(path)]
    (verdict,) = found.verdicts
    assert (verdict.latest, verdict.restorable) == (CheckpointRef(200_000, 6), CheckpointRef(200_000, 5))
    assert "cannot resume automatically" in verdict.words
    assert "published twice" in verdict.words


def test_a_damaged_older_one_harms_no_restore(made: Made) -> None:
    (job,) = survey(made.storage)
    made.damage(job.pipeline(1).find(CheckpointRef(100_000, 2)))
    found = verified(made)
    assert not found.sound
    assert found.verdicts[0].words == "resumes from 200000-6"


def test_when_none_is_intact(made: Made) -> None:
    (job,) = survey(made.storage)
    for info in job.checkpoints:
        made.damage(info)
    found = verified(made)
    assert len(found.damaged) == 6
    assert found.verdicts[0].restorable is None
    assert "none of its live checkpoints is intact" in found.verdicts[0].words


def test_an_enumeration_that_is_missing_is_damage_although_every_object_is_intact(made: Made) -> None:
    made.storage.discard(each for each in made.storage.holdings() if each.kind is HoldingKind.ATTACHMENT)
    found = verified(made)
    assert not found.damaged
    assert not found.sound
    assert "checkpoint 200000-6 refers to the enumeration" in found.problems[-1]
    assert found.verdicts[0].restorable == CheckpointRef(100_000, 1)


def test_what_is_stored_and_makes_no_sense_is_damage_too(made: Made) -> None:
    made.storage.store_attachment(made.job_id, b"no enumeration")
    (damage,) = verified(made).damaged
    assert "enumeration" in damage.problem


def test_a_sealed_state_that_makes_no_sense_is_named(made: Made) -> None:
    state = PipelineState(
        job_id=made.job_id,
        pipeline_id=1,
        epoch=200_000,
        checkpoint_id=7,
        checkpoint_type=CheckpointType.CHECKPOINT,
        base=CheckpointRef(100_000, 2),
        states=b"no state",
    )
    made.storage.store_checkpoint(state)
    (damage,) = verified(made).damaged
    assert f"cannot read {made.storage.locate(layout.checkpoint_key(state))}: " in damage.problem


def test_what_is_not_ours_is_counted_and_not_read(made: Made) -> None:
    folder = Path(made.storage.namespace, made.job_id, "000001")
    (folder / "notes.txt").write_text("mine")
    (folder / ".tmp" / "0000300000.epoch.1-ab").write_text("half")
    found = verified(made)
    assert found.sound
    assert (found.foreign, found.unfinished) == (1, 1)


@pytest.mark.parametrize("how", ["damaged", "gone", "ended", "misnamed", "empty"])
def test_what_else_a_pipeline_can_be_asked(made: Made, how: str) -> None:
    says = {
        "damaged": "manifest cannot be read",
        "gone": "no manifest",
        "ended": "has ended",
        "misnamed": "until its folder is repaired",
        "empty": "has no checkpoint",
    }
    folder = Path(made.storage.namespace, made.job_id)
    if how in ("damaged", "gone"):
        for path in (folder / "manifest").glob("*.manifest"):
            path.write_bytes(b"") if how == "damaged" else os.unlink(path)
    elif how == "ended":
        made.end()
    elif how == "misnamed":
        (folder / "000001" / "x.epoch").write_bytes(b"")
    else:
        for path in (folder / "000001").glob("*.ckpt"):
            path.unlink()
    found = verified(made)
    assert says[how] in found.verdicts[0].words
    assert found.sound == (how in ("ended", "empty"))


def test_of_a_deleted_job_the_markers_are_read(made: Made) -> None:
    made.storage.delete_job(made.job_id)
    (marker,) = objects(made)
    assert verify(made.storage, survey(made.storage, deleted=True)).sound
    marker.write_bytes(b"damaged")
    found = verify(made.storage, survey(made.storage, deleted=True))
    assert [damage.path for damage in found.damaged] == [str(marker)]
    assert not found.verdicts


def test_a_job_that_is_deleted_meanwhile_is_no_damage(made: Made) -> None:
    jobs = survey(made.storage)
    made.storage.discard(made.storage.holdings())
    found = verify(made.storage, jobs)
    assert not found.damaged


def test_a_savepoint_off_the_line_needs_its_enumeration_too(made: Made) -> None:
    made.store(200_000, 7, base=(100_000, 2), kind=CheckpointType.SAVEPOINT)
    assert verified(made).sound
