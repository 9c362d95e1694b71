"""What nothing needs goes, what anything may need stays; and what cannot be read needs everything."""

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.inspector import Findings, find_garbage, remove, survey, survey_job
from seatunnel_core.server.discovery.storage_probe import StorageProbe
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.inventory import HoldingKind
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.inspector.made import JOB, Made, enumeration


def found_in(made: Made, **options: Any) -> Findings:
    return find_garbage(made.storage, survey(made.storage), **{"older_than_s": 0, **options})


def whats(found: Findings) -> Counter[str]:
    return Counter(each.what for each in found.garbage)


def swept(made: Made, **options: Any) -> Findings:
    found = found_in(made, **options)
    assert remove(made.storage, found.garbage) == ()
    assert not found_in(made, **options).garbage
    return found


# -- in the storage


def test_void_checkpoints_go_and_the_line_that_can_be_restored_stays(made: Made) -> None:
    found = swept(made)
    assert [Path(each.path).name for each in found.garbage] == [f"0000100000-{4:020d}.checkpoint.base-none.ckpt"]
    assert [str(info.ref) for info in made.storage.list_checkpoints(JOB, 1)] == [
        *("100000-1", "100000-2", "200000-3", "200000-5", "200000-6")
    ]


def test_looking_removes_nothing(made: Made) -> None:
    before = made.storage.holdings()
    assert found_in(made).garbage
    assert made.storage.holdings() == before


def test_savepoints_stay_whatever_became_of_their_epoch(storage: BlobStorage, tmp_path: Path) -> None:
    made = Made(storage=storage, target=tmp_path)
    made.begin()
    made.claim(100_000)
    made.store(100_000, 1)
    made.store(100_000, 2, kind=CheckpointType.SAVEPOINT)
    made.claim(200_000)
    made.store(200_000, 3, base=(100_000, 1))
    assert survey_job(storage, JOB).pipeline(1).live == tuple(
        info for info in storage.list_checkpoints(JOB, 1) if info.checkpoint_id != 2
    )
    assert not found_in(made).garbage


def test_old_markers_go_and_the_newest_stays(made: Made) -> None:
    for epoch in (300_000, 400_000):
        made.claim(epoch)
    assert whats(swept(made))["old marker"] == 2
    assert made.storage.scan(JOB, 1).epochs == (400_000,)


def test_enumerations_that_no_state_names_go_once_each_source_has_its_own(made: Made) -> None:
    made.storage.store_attachment(JOB, enumeration("/in/other.csv"))
    assert whats(swept(made))["attachment"] == 1
    assert made.storage.get_attachment(JOB, made.attachments[1])


def test_an_enumeration_that_the_next_checkpoint_may_name_stays(storage: BlobStorage, tmp_path: Path) -> None:
    """A process that starts the job again enumerates, finds the same object there, and names it an hour later."""
    made = Made(storage=storage, target=tmp_path)
    made.begin()
    made.claim(100_000)
    made.store(100_000, 1, made.states(enumerated=False), kind=CheckpointType.RESTORE_POINT)
    assert not found_in(made).garbage
    made.end()
    assert whats(found_in(made)) == {"attachment": 1}


def test_what_dead_writers_left_goes_when_it_is_old(made: Made) -> None:
    namespace = Path(made.storage.namespace)
    left = [namespace / JOB / "000001" / ".tmp" / "0000300000.epoch.1-ab", namespace / ".probe-1-ab"]
    for path in left:
        path.write_bytes(b"half")
    assert "unfinished write" not in whats(found_in(made, older_than_s=60))
    assert whats(swept(made))["unfinished write"] == 2
    assert not any(path.exists() for path in left)


def test_what_nodes_left_that_died_while_they_compared_storages_goes_when_it_is_old(made: Made) -> None:
    probe = StorageProbe(made.storage, setting="")
    probe.leave("10.0.0.1:5801", "10.0.0.2:5801")
    probe.leave("10.0.0.1:5801", "10.0.0.2:5801")
    made.storage.store_attachment("probe-of-mine", b"a job of a user, which may be copied just now")
    assert "probe of a node that died" not in whats(found_in(made, older_than_s=60))
    assert whats(swept(made))["probe of a node that died"] == 2
    left = [job for job in made.storage.list_jobs() if job.startswith("probe-")]
    assert left == ["probe-of-mine"]


def test_what_is_young_is_left_alone(made: Made) -> None:
    made.stage(100_000, 9)
    assert not found_in(made, older_than_s=60).garbage
    assert found_in(made, older_than_s=60, now=time.time() + 61).garbage


def test_what_has_no_known_age_is_young(made: Made) -> None:
    other = MemoryStorage({holding.path: Path(holding.path).read_bytes() for holding in made.storage.holdings()})
    other.namespace = made.storage.namespace
    assert not find_garbage(other, survey(other), older_than_s=1).garbage
    assert find_garbage(other, survey(other), older_than_s=0).garbage


def test_what_is_not_ours_is_never_touched(made: Made) -> None:
    notes = Path(made.storage.namespace, JOB, "000001", "notes.txt")
    notes.write_text("mine")
    swept(made, ended_jobs=True)
    assert notes.exists()


# -- whole jobs


def test_an_ended_job_goes_as_a_whole_only_when_asked_for(made: Made) -> None:
    made.end()
    assert "ended job" not in whats(found_in(made))
    found = swept(made, ended_jobs=True)
    assert whats(found) == {"ended job": 1}
    assert survey(made.storage) == ()


def test_an_ended_job_that_is_young_stays(made: Made) -> None:
    made.end()
    assert not found_in(made, ended_jobs=True, older_than_s=60).garbage


def test_an_open_job_never_goes_as_a_whole(made: Made) -> None:
    swept(made, ended_jobs=True)
    assert made.storage.get_manifest(JOB) is not None
    assert made.storage.get_latest_checkpoint(JOB, 1) is not None


def test_a_job_without_a_manifest_is_named_and_kept(made: Made) -> None:
    for path in Path(made.storage.namespace, JOB, "manifest").glob("*.manifest"):
        path.unlink()
    made.stage(100_000, 9)
    found = found_in(made)
    assert not found.garbage
    assert not found.damaged
    assert "no manifest" in found.spared[0]


# -- damage (R9)


@pytest.mark.parametrize("how", ["live", "savepoint", "manifest", "misnamed", "state"])
def test_where_something_cannot_be_read_nothing_is_removed(made: Made, how: str) -> None:
    staged = made.stage(100_000, 9)
    savepoint = made.store(200_000, 8, base=(100_000, 2), kind=CheckpointType.SAVEPOINT)
    folder = Path(made.storage.namespace, JOB)
    breaks: dict[str, Callable[[], object]] = {
        "live": lambda: made.damage(survey_job(made.storage, JOB).pipeline(1).find(CheckpointRef(100_000, 1))),
        "savepoint": lambda: made.damage(savepoint),
        "manifest": lambda: (folder / "manifest" / "0000000002.manifest").write_bytes(b""),
        "misnamed": lambda: (folder / "000001" / "x.ckpt").write_bytes(b""),
        "state": lambda: made.storage.put_if_absent(
            f"{JOB}/000001/0000200000-{9:020d}.checkpoint.base-100000-2.ckpt", _another_version(made)
        ),
    }
    breaks[how]()
    found = found_in(made)
    assert not found.garbage
    assert found.damaged
    assert f"no data of job {JOB} is removed" in found.spared[0]
    assert staged.exists()


def _another_version(made: Made) -> bytes:
    from seatunnel_storage_api import envelope
    from seatunnel_storage_api.inventory import checkpoint_header

    return envelope.seal("checkpoint", b"{}", **checkpoint_header(made.state(200_000, 9, base=(100_000, 2))))


def test_where_a_checkpoint_is_pruned_meanwhile_nothing_is_removed(made: Made) -> None:
    """Its successor may name what is staged in an older epoch, and was not listed."""
    staged = made.stage(100_000, 1)
    jobs = survey(made.storage)
    for checkpoint_id in (2, 3, 5, 6):
        made.storage.delete_checkpoint(JOB, 1, checkpoint_id)
    found = find_garbage(made.storage, jobs, older_than_s=0)
    assert not found.garbage
    assert not found.damaged
    assert "was removed in the meantime" in found.spared[0]
    assert staged.exists()


def test_damage_in_one_job_spares_only_that_job(made: Made, tmp_path: Path) -> None:
    other = Made(storage=made.storage, target=tmp_path / "other", job_id="job-2")
    other.begin()
    other.claim(100_000)
    other.claim(200_000)
    made.damage(survey_job(made.storage, JOB).pipeline(1).find(CheckpointRef(200_000, 5)))
    assert [(each.job_id, each.what) for each in found_in(made).garbage] == [("job-2", "old marker")]


def test_a_damaged_void_one_may_go(made: Made) -> None:
    (info,) = [each for each in made.storage.list_checkpoints(JOB, 1) if each.checkpoint_id == 4]
    made.damage(info)
    assert whats(swept(made))["void checkpoint"] == 1


# -- staged files


def test_staged_files_of_older_epochs_go_unless_a_live_checkpoint_names_them(made: Made) -> None:
    named = [made.stage(100_000, 1), made.stage(200_000, 4), made.stage(200_000, 6)]
    orphan = made.stage(100_000, 2)
    newest = made.stage(200_000, 99)
    found = swept(made)
    assert [each.path for each in found.garbage if each.what == "staged file"] == [str(orphan)]
    assert all(path.exists() for path in (*named, newest))


def test_what_waits_for_earlier_units_stays(made: Made) -> None:
    made.claim(300_000)
    restored = made.states(emitted=7, held=[(200_000, 6)], running=[5])
    made.store(300_000, 7, restored, base=(200_000, 6), kind=CheckpointType.RESTORE_POINT)
    made.storage.delete_checkpoints(JOB, 1, [CheckpointRef(200_000, 6)])
    staged = made.stage(200_000, 6)
    swept(made)
    assert staged.exists()


def test_what_a_savepoint_names_stays(made: Made) -> None:
    made.store(200_000, 8, made.states(uncommitted=[(100_000, 2)]), base=(100_000, 2), kind=CheckpointType.SAVEPOINT)
    staged = made.stage(100_000, 2)
    swept(made)
    assert staged.exists()


def test_an_empty_folder_stays_while_a_live_checkpoint_names_its_epoch(made: Made) -> None:
    """A missing staged file is a published one only while its folder is there (R8)."""
    named = made.stage(100_000, 1)
    named.unlink()
    unnamed = made.stage(50_000, 1)
    swept(made)
    assert named.parent.is_dir()
    assert not unnamed.parent.exists()


def test_a_file_that_no_sink_names_like_that_stays_and_so_does_its_folder(made: Made) -> None:
    mine = made.stage(50_000, 1).with_name("mine.txt")
    mine.write_text("mine")
    remove(made.storage, found_in(made).garbage)
    assert mine.read_text() == "mine"
    assert os.listdir(mine.parent) == ["mine.txt"]


def test_of_an_ended_job_nothing_staged_is_needed(made: Made) -> None:
    for epoch, unit in ((100_000, 1), (200_000, 99)):
        made.stage(epoch, unit)
    made.end()
    assert whats(swept(made))["staged file"] == 2
    assert not (made.target / ".seatunnel").exists()


def test_of_a_job_that_was_deleted_here_nothing_staged_is_needed(made: Made) -> None:
    staged = made.stage(200_000, 4)
    made.storage.delete_job(JOB)
    assert staged.exists()
    swept(made, targets=[str(made.target)])
    assert not staged.exists()


def fence_of(made: Made, epoch: int, *names: str) -> Path:
    """That of a save mode which was killed when it had moved these into it."""
    fence = made.target / ".seatunnel" / made.job_id / "save-mode" / f"1-{epoch}-1-0"
    for name in names:
        (fence / name).parent.mkdir(parents=True, exist_ok=True)
        (fence / name).write_text("to go")
    fence.mkdir(parents=True, exist_ok=True)
    return fence


@pytest.mark.parametrize("deleted", [True, False])
def test_fences_of_save_modes_go_with_their_job_and_what_they_hold(made: Made, deleted: bool) -> None:
    """Nothing looked at them: they stayed for ever, with the files that were to be removed, and so did the folders
    above them."""
    fence_of(made, 200_000, "0", "1/day=1/a.parquet")
    fence_of(made, 100_000)
    (fence_of(made, 100_000) / "link").symlink_to(made.target)
    made.stage(200_000, 4)
    made.storage.delete_job(JOB) if deleted else made.end()
    swept(made, targets=[str(made.target)])
    assert made.target.is_dir()
    assert not (made.target / ".seatunnel").exists()


def test_the_fence_of_the_newest_epoch_stays_while_the_job_can_go_on(made: Made) -> None:
    old, newest = fence_of(made, 50_000, "0"), fence_of(made, 200_000, "0")
    swept(made)
    assert not old.exists()
    assert (newest / "0").exists()


@pytest.mark.parametrize("how", ["deleted", "ended", "open"])
def test_files_of_a_replace_are_the_jobs_own_until_it_has_ended(made: Made, how: str) -> None:
    """They are committed: no checkpoint names them any more, and a job that is resumed puts them in their place."""
    waiting = made.target / ".seatunnel" / made.job_id / "replacing"
    for name in ("1-0/out/day=1/a.parquet", "1-0-folders/out/.replaced", "1-0-50000/out/b.parquet", "1-0-done"):
        (waiting / name).parent.mkdir(parents=True, exist_ok=True)
        (waiting / name).write_text("rows")
    if how == "deleted":
        made.storage.delete_job(JOB)
    elif how == "ended":
        made.end()
    swept(made, targets=[str(made.target)])
    assert made.target.is_dir()
    assert (made.target / ".seatunnel").exists() == (how == "open")
    assert (waiting / "1-0" / "out" / "day=1" / "a.parquet").exists() == (how == "open")


def test_of_a_job_that_this_storage_does_not_know_everything_stays(made: Made) -> None:
    foreign = Made(storage=made.storage, target=made.target, job_id="job-of-another-storage")
    staged = foreign.stage(100_000, 1)
    found = swept(made)
    assert staged.exists()
    assert "1 staged files of job job-of-another-storage" in found.spared[0]


def test_of_other_jobs_nothing_is_looked_at_when_one_is_named(made: Made) -> None:
    other = Made(storage=made.storage, target=made.target, job_id="job-2")
    other.begin()
    staged = other.stage(1, 1)
    job = survey_job(made.storage, JOB)
    found = find_garbage(made.storage, [job], whole=False, older_than_s=0)
    assert staged.exists()
    assert {each.job_id for each in found.garbage} == {JOB}
    assert not found.spared


def test_a_target_that_cannot_be_read_is_said(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made.stage(100_000, 2)

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied", os.fspath(path))  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", refuse)  # the tests may run as root, whom no permission stops
    found = find_garbage(MemoryStorage(), [], targets=[str(made.target)])
    assert "cannot be read, so staged files there are kept: Permission denied" in found.spared[0]


def test_what_cannot_be_removed_is_said(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = made.stage(100_000, 2)

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied", os.fspath(path))  # type: ignore[call-overload]

    found = [each for each in found_in(made).garbage if each.what == "staged file"]
    monkeypatch.setattr(os, "unlink", refuse)
    assert remove(made.storage, found) == (f"{staged} cannot be removed: Permission denied",)
    monkeypatch.undo()
    staged.unlink()
    assert remove(made.storage, found) == ()


def test_a_target_that_is_not_there_has_nothing(made: Made) -> None:
    assert found_in(made, targets=[str(made.target / "none")]).spared == ()


def test_everything_of_a_running_job_stays_while_it_works(made: Made) -> None:
    """The newest epoch is nobody's but its engine's: what no checkpoint names yet will be named by the next."""
    made.claim(300_000)
    staged = made.stage(300_000, 1)
    temporary = Path(made.storage.namespace, JOB, "000001", ".tmp", "0000300000-1.ckpt.1-ab")
    temporary.write_bytes(b"half")
    kept = [each for each in made.storage.holdings() if each.kind is not HoldingKind.UNFINISHED]
    remove(made.storage, found_in(made, older_than_s=60).garbage)
    assert staged.exists()
    assert temporary.exists()
    assert [each for each in made.storage.holdings() if each.kind is not HoldingKind.UNFINISHED] == kept
