"""A job must not empty the folder that it is about to read."""

import os
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError, JobError
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.planning.rules import overlap
from seatunnel_core.registry import lookup

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a file to read in the folder ``in``."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n")
    return tmp_path


def plan(read: str, written: str, mode: str = "DROP_DATA") -> None:
    """A job of two pipelines: one reads files, the other writes them."""
    text = f"""
        source {{
          LocalFile {{ plugin_output = a, path = "{read}", file_format_type = csv, schema {{ fields {{ id = int }} }} }}
          FakeSource {{ plugin_output = b, row.num = 1, schema {{ fields {{ id = int }} }} }}
        }}
        sink {{
          Console {{ plugin_input = a }}
          LocalFile {{ plugin_input = b, path = "{written}", data_save_mode = {mode} }}
        }}"""
    problems = Problems()
    plan_job(read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems), lookup, ENGINE)


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("/data/in", "/data/in"),
        ("/data/in", "/data/in/"),
        ("/data", "/data/in/a.csv"),
        ("/data/in/out", "/data/in"),
        ("/data/in", "/data/in/*.csv"),
        ("/data/in", "/data/*/2013/[ab].csv"),
        ("/data/in/out", "/data/i?"),
        ("/data/out", "/data/**/a.csv"),
        ("/data/[x]", "/data/[x]"),
        ("/data/in", "/data/out/../in/a.csv"),
    ],
)
def test_paths_that_overlap(target: str, pattern: str) -> None:
    assert overlap(target, pattern)


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("/data/out", "/data/in"),
        ("/data/in-2", "/data/in"),
        ("/data/out", "/data/in*/a.csv"),
        ("/data/out", "/data/*.csv"),
        ("/data/out", "/logs/**/a.csv"),
    ],
)
def test_paths_that_do_not_overlap(target: str, pattern: str) -> None:
    assert not overlap(target, pattern)


def test_a_link_to_the_input_is_the_input(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    os.symlink(tmp_path / "in", tmp_path / "link")
    assert overlap(str(tmp_path / "link"), str(tmp_path / "in" / "*.csv"))
    assert overlap(str(tmp_path / "in"), str(tmp_path / "link" / "a.csv"))


def test_a_sink_that_would_delete_the_input_of_the_job_is_refused(folder: Path) -> None:
    with pytest.raises(JobError) as raised:
        plan(f"{folder}/in/*.csv", f"{folder}/in/${{table_name}}")
    assert str(raised.value) == (
        f"the sink 'LocalFile-sink-b' empties {folder}/in when the job starts, and the source 'a' reads "
        f"{folder}/in/*.csv: the job would delete its own input. Write to another folder, or set data_save_mode = "
        "APPEND_DATA"
    )


def test_a_sink_that_empties_another_folder_or_none_is_planned(folder: Path) -> None:
    plan(f"{folder}/in", f"{folder}/out")
    plan(f"file://{folder}/in", f"{folder}/in", mode="APPEND_DATA")
    plan(f"{folder}/in", f"{folder}/in", mode="ERROR_WHEN_DATA_EXISTS")


@pytest.mark.parametrize("path", ["", " ", "file://"])
@pytest.mark.parametrize("end", ["source", "sink"])
def test_an_empty_path_is_not_the_current_folder(end: str, path: str, folder: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(path, "/data/out") if end == "source" else plan(f"{folder}/in", path)
    assert f"the {end} LocalFile: option 'path': expected a path, found {path!r}; write . for" in str(raised.value)


@pytest.mark.parametrize("path", ["/", "//", "/tmp/..", "file:///", "/${table_name}"])
def test_the_root_of_the_file_system_is_no_target(path: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match="is the root of the file system"):
        plan(f"{folder}/in", path, mode="APPEND_DATA")
