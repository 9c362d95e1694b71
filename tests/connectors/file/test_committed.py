"""A committable names files that its own unit staged, and folders of its own target: nothing else is published."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connectors.staging.committed import staged_files
from seatunnel_core.connectors.staging.target import StagedFile, Target
from seatunnel_core.errors import CommitError
from seatunnel_core.work.committable import Committable

NAME = "out_job-p1-s0-o0-e7-u3-a1-0-0.parquet"
UNIT = Committable(id="0-7-3", epoch=7, unit=3, source="in", rows=1, bytes=1, body={"files": [[NAME, "city=Rome"]]})


@pytest.fixture
def target(tmp_path: Path) -> Target:
    root = tmp_path / "target"
    (root / "inside").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "leads-out").symlink_to(tmp_path / "outside")
    (root / "leads-in").symlink_to(root / "inside")
    return Target(root=str(root), job_id="job", pipeline_id=1, sink_ordinal=0)


@pytest.mark.parametrize(
    "folder", ["", "city=Rome", "a/b/c", "é", "..a/b..", "not/.seatunnel", "leads-in/x", "caf\udce9"]
)
def test_a_folder_below_the_target_is_taken(folder: str, target: Target) -> None:
    body = {"files": [[NAME, folder]]}
    assert staged_files(evolve(UNIT, body=body), target) == [StagedFile(7, NAME, folder)]


@pytest.mark.parametrize(
    "folder",
    ["..", "../x", "a/..", "a/../../x", ".", "/", "/etc", "a//b", "a/", ".seatunnel", ".seatunnel/other/1/1"],
)
def test_a_folder_that_is_not_below_the_target_is_refused(folder: str, target: Target) -> None:
    with pytest.raises(
        CommitError, match=r"sink LocalFile: .* the folder .* is not below the target. None of its files"
    ):
        staged_files(evolve(UNIT, body={"files": [[NAME, folder]]}), target)


@pytest.mark.parametrize("folder", ["leads-out", "leads-out/deeper", "leads-in/../leads-out"])
def test_a_link_does_not_lead_out_of_the_target(folder: str, target: Target) -> None:
    with pytest.raises(CommitError, match=r"leads out of|not below"):
        staged_files(evolve(UNIT, body={"files": [[NAME, folder]]}), target)


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "data.parquet", f"../{NAME}", f"/etc/{NAME}", f"{NAME}/x"),
        *(NAME.replace("job", "other"), NAME.replace("-p1", "-p2"), NAME.replace("-s0", "-s1")),
        *(NAME.replace("-e7", "-e6"), NAME.replace("-u3", "-u33"), NAME.replace("-u3-a", "-u3")),
    ],
)
def test_a_file_that_the_unit_did_not_stage_is_refused(name: str, target: Target) -> None:
    with pytest.raises(CommitError, match="is not the name of a staged file of this sink"):
        staged_files(evolve(UNIT, body={"files": [[name, ""]]}), target)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "'files' is missing"),
        ({"files": {}}, "'files' must be a list, not a block"),
        ({"files": ["ab"]}, r"a list of \[name, folder\]"),
        ({"files": [[NAME]]}, r"a list of \[name, folder\]"),
        ({"files": [[NAME, None]]}, "'folder' must be a path, not None"),
        ({"files": [[NAME, "a\0b"]]}, "'folder' must be a path"),
        ({"files": [[NAME, "\ud800"]]}, "'folder' must be a path"),
        ({"files": [[7, ""]]}, "'name' must be a path, not 7"),
    ],
)
def test_what_is_no_list_of_files_is_refused(body: Any, said: str, target: Target) -> None:
    with pytest.raises(CommitError, match=said) as raised:
        staged_files(evolve(UNIT, body=body), target)
    assert not raised.value.retryable
