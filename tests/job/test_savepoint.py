"""A job's savepoints: what the manifest says of them, and what nobody may write there."""

import json
from typing import Any

import pytest

from seatunnel_core.errors import JobError, UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.savepoint import JobSavepoint, require_savepoint_name
from seatunnel_storage_api.state import CheckpointRef

PARTS = {1: CheckpointRef(100_000, 12), 3: CheckpointRef(200_001, 7)}
TAKEN = JobSavepoint(
    name="before-2.0", taken_at=1_700_000_000.5, stopped=True, pipelines=PARTS, finished=frozenset({3})
)


def test_a_manifest_keeps_them_in_their_order() -> None:
    later = JobSavepoint(name="2", taken_at=1_700_000_001, stopped=False, pipelines={1: CheckpointRef(1, 2)})
    manifest = Manifest(job_name="job").with_savepoint(TAKEN).with_savepoint(later)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert [each.name for each in manifest.savepoints] == ["before-2.0", "2"]
    assert manifest.savepoint("2", job_id="17") == later
    with pytest.raises(UsageError, match=r"the job 17 has no savepoint 3; it has before-2\.0, 2"):
        manifest.savepoint("3", job_id="17")
    with pytest.raises(UsageError, match="it has none"):
        Manifest(job_name="job").savepoint("3", job_id="17")


def test_a_manifest_without_any_is_written_as_it_always_was() -> None:
    assert "savepoints" not in json.loads(Manifest(job_name="job").to_bytes())


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "é", "x" * 65, "a/b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a savepoint name"):
        require_savepoint_name(name)


@pytest.mark.parametrize("name", ["1", "before-2.0", "x" * 64])
def test_a_name(name: str) -> None:
    assert require_savepoint_name(name) == name


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"taken_at": "now"}, "'taken_at' must be seconds since 1970, not 'now'"),
        ({"taken_at": True}, "'taken_at' must be seconds since 1970"),
        ({"taken_at": 1e12}, "'taken_at' must be seconds since 1970"),
        ({"stopped": 1}, "'stopped' must be true or false"),
        ({"pipelines": {"one": [1, 2]}}, "'one' is not a pipeline number"),
        ({"pipelines": {"1": [1]}}, "the savepoint of pipeline 1 is not an epoch and an ID"),
        ({"pipelines": {"1": [1, -2]}}, "'id' must be a whole number"),
        ({"pipelines": []}, "'pipelines' must be a block"),
        ({"finished": [3]}, "'finished' must be a list of texts"),
        ({"finished": ["three"]}, "'three' is not a pipeline number"),
        ({"name": 7}, "'name' must be a string"),
    ],
)
def test_what_is_no_savepoint_is_refused(change: dict[str, Any], said: str) -> None:
    content = json.loads(Manifest(job_name="job").with_savepoint(TAKEN).to_bytes())
    content["savepoints"][0] |= change
    with pytest.raises(JobError) as caught:
        Manifest.from_bytes(json.dumps(content).encode())
    assert said in str(caught.value)


def test_a_list_that_is_none_is_refused() -> None:
    content = json.loads(Manifest(job_name="job").to_bytes()) | {"savepoints": {}}
    with pytest.raises(JobError, match="'savepoints' must be a list"):
        Manifest.from_bytes(json.dumps(content).encode())
