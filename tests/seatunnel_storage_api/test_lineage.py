"""Live, orphaned, and what retention takes, as tables."""

import pytest

from seatunnel_storage_api import lineage, retention
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing

KINDS = {
    "": CheckpointType.CHECKPOINT,
    "s": CheckpointType.SAVEPOINT,
    "c": CheckpointType.COMPLETED_POINT,
}


def infos(text: str) -> tuple[CheckpointInfo, ...]:
    """``1-2 2-3<1-2 2-4s<1-2`` is 1-2 of an epoch without base, and 2-3 and savepoint 2-4 of one that began at 1-2."""

    def info(word: str) -> CheckpointInfo:
        name, _, base = word.partition("<")
        kind = name.lstrip("0123456789-")
        return CheckpointInfo(
            job_id="job",
            pipeline_id=1,
            epoch=ref(name.removesuffix(kind)).epoch,
            checkpoint_id=ref(name.removesuffix(kind)).checkpoint_id,
            checkpoint_type=KINDS[kind],
            base=ref(base) if base else None,
            size_bytes=0,
            stored_at=None,
        )

    return tuple(map(info, text.split()))


def ref(text: str) -> CheckpointRef:
    epoch, number = text.split("-")
    return CheckpointRef(int(epoch), int(number))


@pytest.mark.parametrize(
    ("there", "orphaned"),
    [
        ("", ""),
        ("1-1", ""),
        ("1-1 1-2 1-3", ""),
        ("1-1 1-2 2-3<1-2", ""),
        ("1-1 1-2 2-2<1-1", "1-2"),
        ("1-5 1-9 2-6<1-5 2-7<1-5", "1-9"),
        ("1-9 2-6<1-5", "1-9"),
        ("1-1 1-2 2-2<1-1 2-3<1-1 3-3<2-2", "1-2 2-3"),
        ("1-1 2-2<1-1 3-2<1-1", "2-2"),
        ("1-1 3-5<2-4", "1-1"),
        ("1-1 2-2<3-1", "1-1"),
        ("1-1 2-2<2-2", "1-1"),
        ("1-1s 1-2 2-2s<1-1", "1-2"),
    ],
)
def test_all_that_is_not_in_the_history_of_the_latest_is_void(there: str, orphaned: str) -> None:
    checkpoints = infos(there)
    assert lineage.orphaned(checkpoints) == frozenset(map(ref, orphaned.split()))
    assert lineage.orphaned(reversed(checkpoints)) == lineage.orphaned(checkpoints)
    assert lineage.live(checkpoints) == {info.ref for info in checkpoints} - lineage.orphaned(checkpoints)


def test_latest_of_nothing() -> None:
    assert lineage.latest([]) is None


@pytest.mark.parametrize(
    ("there", "stored", "kept", "removed"),
    [
        ("1-1", "1-1", 1, ""),
        ("1-1 1-2 1-3", "1-3", 3, ""),
        ("1-1 1-2 1-3", "1-3", 1, "1-1 1-2"),
        ("1-1s 1-2 1-3", "1-3", 1, "1-2"),
        ("1-1c 1-2c 1-3", "1-3", 1, "1-1"),
        ("1-1c 1-2c", "1-2", 1, ""),
        ("1-1 1-2 1-3", "1-1", 1, ""),
        ("1-1 1-2 1-3", "1-2", 1, "1-1"),
        ("1-1 1-2 1-3 2-4<1-1", "2-4", 2, "1-2 1-3"),
        ("1-1 1-2 1-3 2-4<1-1", "2-4", 3, "1-2"),
        ("1-1c 1-2c 2-3<1-1", "2-3", 1, "1-2"),
        ("1-1 1-2s 2-3<1-1", "2-3", 1, "1-1"),
    ],
)
def test_what_retention_takes(there: str, stored: str, kept: int, removed: str) -> None:
    listing = PipelineListing(checkpoints=infos(there), epochs=(1, ref(stored).epoch))
    pruning = retention.prune(listing, stored=ref(stored), max_retained=kept)
    assert sorted(info.ref for info in pruning.checkpoints) == sorted(map(ref, removed.split()))


def test_only_markers_of_older_epochs_go() -> None:
    listing = PipelineListing(checkpoints=infos("5-1"), epochs=(1, 4, 5))
    assert retention.prune(listing, stored=ref("5-1"), max_retained=1).epochs == (1, 4)
