"""Names and what they name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_storage_api import layout
from seatunnel_storage_api.errors import CheckpointCorruptedError, InvalidIdError
from seatunnel_storage_api.layout import Blob
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineListing

EPOCHS = st.integers(1, layout.MAX_EPOCH)
IDS = st.integers(0, layout.MAX_CHECKPOINT_ID)
REFS = st.builds(CheckpointRef, EPOCHS, IDS)
JOBS = st.from_regex(r"\A[A-Za-z0-9._-]{1,128}\Z").filter(lambda job: job not in (".", ".."))
INFOS = st.builds(
    CheckpointInfo,
    job_id=JOBS,
    pipeline_id=st.integers(1, layout.MAX_PIPELINE_ID),
    epoch=EPOCHS,
    checkpoint_id=IDS,
    checkpoint_type=st.sampled_from(CheckpointType),
    base=st.none() | REFS,
    size_bytes=st.just(5),
    stored_at=st.just(1.5),
)


def listed(*keys: str) -> dict[tuple[str, int], PipelineListing]:
    return layout.pipelines([Blob(key=key, size_bytes=5, modified_at=1.5) for key in keys], "/ns/{}".format)


def test_the_names_are_these() -> None:
    info = CheckpointInfo(
        job_id="job",
        pipeline_id=3,
        epoch=200_001,
        checkpoint_id=17,
        checkpoint_type=CheckpointType.RESTORE_POINT,
        base=CheckpointRef(100_000, 16),
        size_bytes=0,
        stored_at=None,
    )
    assert layout.checkpoint_key(info) == (
        "job/000003/0000200001-00000000000000000017.restore-point.base-100000-16.ckpt"
    )
    assert layout.epoch_key("job", 3, 200_001) == "job/000003/0000200001.epoch"
    assert layout.manifest_key("job", 2) == "job/manifest/0000000002.manifest"
    assert layout.attachment_key("job", "ab" * 32) == f"job/attachments/{'ab' * 32}.attachment"


@given(INFOS)
def test_a_name_gives_back_what_it_was_made_of(info: CheckpointInfo) -> None:
    assert listed(layout.checkpoint_key(info))[info.job_id, info.pipeline_id].checkpoints == (info,)


@given(st.lists(REFS, min_size=2, max_size=5))
def test_sorting_the_names_sorts_epoch_and_id(refs: list[CheckpointRef]) -> None:
    def name(ref: CheckpointRef) -> str:
        return layout._checkpoint_name(ref, CheckpointType.CHECKPOINT, None)

    assert sorted(map(name, refs)) == [name(ref) for ref in sorted(refs)]


@given(INFOS)
def test_every_component_fits_every_backend(info: CheckpointInfo) -> None:
    for part in layout.checkpoint_key(info).split("/"):
        assert part.isascii()
        assert 1 <= len(part) < 200
        assert part not in (".", "..")


@pytest.mark.parametrize(
    "key",
    [
        "job/000001/1-1.checkpoint.base-none.ckpt",
        "job/000001/0000000001-00000000000000000001.checkpoint.ckpt",
        "job/000001/0000000001-00000000000000000001.unheard-of.base-none.ckpt",
        "job/000001/0000000001-00000000000000000001.checkpoint.base-01-1.ckpt",
        "job/000001/0000000000-00000000000000000001.checkpoint.base-none.ckpt",
        "job/000001/0000000001-00000000000000000001.checkpoint.base-0-1.ckpt",
        "job/000001/١000000001-00000000000000000001.checkpoint.base-none.ckpt",
        "job/000001/x.ckpt",
        "job/000001/1.epoch",
        "job/000001/00000000001.epoch",
    ],
)
def test_a_name_that_only_claims_to_be_ours_is_damage(key: str) -> None:
    with pytest.raises(CheckpointCorruptedError, match="/ns/job"):
        listed(key)


@pytest.mark.parametrize(
    "key",
    [
        "0000000001.epoch",
        "job/0000000001.epoch",
        "job/1/0000000001.epoch",
        "job/000000/0000000001.epoch",
        "job/000001/.tmp/0000000001.epoch",
        "job/000001/notes.txt",
        "j b/000001/0000000001.epoch",
        "job/manifest/0000000001.manifest",
    ],
)
def test_foreign_names_are_passed_over(key: str) -> None:
    assert listed(key) == {}


@pytest.mark.parametrize(
    ("key", "job", "version"),
    [
        ("job/manifest/0000000007.manifest", "job", 7),
        ("job/manifest/7.manifest", None, None),
        ("job/000001/0000000007.manifest", None, None),
        ("0000000007.manifest", None, None),
        ("job/000001/0000000007.epoch", None, None),
        ("job/000001/anything.ckpt", "job", None),
        (f"job/attachments/{'0' * 64}.attachment", "job", None),
        (f"job/attachments/{'0' * 64}.attachment.bak", None, None),
        (f"job/attachments/{'0' * 63}.attachment", None, None),
        (f"j b/attachments/{'0' * 64}.attachment", None, None),
    ],
)
def test_what_belongs_to_a_job(key: str, job: str | None, version: int | None) -> None:
    assert layout.job_of(key) == job
    assert layout.manifest_version(key) == version


def test_a_message_says_what_is_allowed() -> None:
    with pytest.raises(InvalidIdError, match="128"):
        layout.job_folder("a/b")
    with pytest.raises(InvalidIdError, match="between 1 and 9999999999"):
        layout.manifest_key("job", 0)
