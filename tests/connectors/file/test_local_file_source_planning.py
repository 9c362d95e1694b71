"""What ``--check`` and the start of a job say about files that are not there or cannot be read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.cli.main import main

SCHEMA = "schema { fields { id = int } }"


class Checked:
    """Runs the command on a job that reads ``path``."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(
        self, path: str, *more: str, format: str = "csv", env: str = "", check: bool = True, flags: tuple[str, ...] = ()
    ) -> int:
        job, engine = self.folder / "job.conf", self.folder / "seatunnel.yaml"
        lines = ["LocalFile {", f"file_format_type = {format}", f'path = "{self.folder}/{path}"', *more, "}"]
        source = "\n".join(lines)
        job.write_text(f"env {{ {env} }}\nsource {{ {source} }}\nsink {{ Console {{}} }}")
        storage = f"type: hdfs, plugin-config: {{storage.type: local, namespace: {self.folder}/state/}}"
        engine.write_text(f"seatunnel: {{engine: {{checkpoint: {{storage: {{{storage}}}}}}}}}")
        code = main(["-c", str(job), "--engine-config", str(engine), *(["--check"] if check else []), *flags])
        said = self._capsys.readouterr()
        self.out, self.err = said.out, said.err
        return code


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Checked:
    return Checked(tmp_path, capsys)


ABSENT = {
    "absent.csv": "absent.csv cannot be listed: No such file or directory. Set path to a file, a folder",
    "*.nope": "no file matches the pattern",
    "uneven.csv": "uneven.csv: the columns cannot be inferred: CSV parse error: Row #2",
}


@pytest.fixture
def inputs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.csv").touch()
    (tmp_path / "uneven.csv").write_text("1,2\n3\n")


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("path", "check"), [(path, check) for path in ABSENT for check in (True, False) if check or path != "uneven.csv"]
)
def test_what_cannot_be_read_is_said_at_its_path(path: str, check: bool, checked: Checked) -> None:
    assert checked(path, "row_error_handle_way = FAIL", check=check) == 2
    assert checked.err.startswith(f"{checked.folder}/job.conf:4:1: the source LocalFile: ")
    assert ABSENT[path] in checked.err
    assert "Traceback" not in checked.err
    assert not list(checked.folder.glob("state/*")), "no job was claimed"


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("path", ["empty", "nothing.csv"])
def test_nothing_to_read_is_no_mistake_where_the_columns_are_declared(path: str, checked: Checked) -> None:
    assert (checked(path, SCHEMA), checked.err) == (0, "")
    assert "default: id int" in checked.out


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("path", ["empty", "nothing.csv"])
def test_nothing_to_read_is_no_mistake_where_nobody_knows_the_columns(path: str, checked: Checked) -> None:
    """An input that comes every night is empty some night."""
    assert (checked(path), checked.err) == (0, "")
    assert "schema: known when the data is read" in checked.out


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("path", "env", "flags"),
    [
        ("absent.csv", 'spark.master = "spark://host:7077"', ()),
        ("uneven.csv", 'spark.master = "spark://host:7077"', ()),
        ("absent.csv", "", ("-m", "spark://host:7077")),
    ],
)
def test_files_of_another_machine_are_not_judged_from_here(
    path: str, env: str, flags: tuple[str, ...], checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # a session that other tests left here would run the tasks
    assert (checked(path, "row_error_handle_way = FAIL", env=env, flags=flags), checked.err) == (0, "")
    assert (
        "schema: known when the data is read on the machines of spark://host:7077; not checked on this machine"
        in checked.out
    )


def test_a_pattern_for_names_that_is_none_is_said_once_with_what_to_write(checked: Checked) -> None:
    (checked.folder / "in").mkdir()
    assert checked("in", 'file_filter_pattern = "*.csv"', SCHEMA) == 2
    assert "file_filter_pattern '*.csv' is not a regular expression" in checked.err
    assert "Set path to" not in checked.err


def test_a_file_that_this_user_may_not_read(checked: Checked) -> None:
    (checked.folder / "a.csv").write_text("1\n")
    (checked.folder / "b.csv").write_text("1\n")
    (checked.folder / "b.csv").chmod(0)
    with not_root(checked.folder):
        assert checked("*.csv", SCHEMA) == 2
    assert "/b.csv cannot be opened: Permission denied. Make the file readable, or exclude it with" in checked.err


@contextmanager
def not_root(folder: Path) -> Iterator[None]:
    """Permissions do not stop root: be nobody for as long as the block lasts."""
    if os.geteuid():
        yield
        return
    for each in (folder, *list(folder.parents)[:-2], *folder.iterdir()):
        os.chmod(each, 0o755 if each.is_dir() else each.stat().st_mode)
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("more", [(), ("schema { fields { id = bigint } }",)])
@pytest.mark.parametrize("torn", ["a.parquet", "b.parquet"])
def test_a_check_looks_into_parquet_files_as_a_task_does(torn: str, more: tuple[str, ...], checked: Checked) -> None:
    (checked.folder / "in").mkdir()
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"id": range(3)}), checked.folder / "in" / name)
    assert checked("in", *more, format="parquet") == 0
    (checked.folder / "in" / torn).write_bytes((checked.folder / "in" / torn).read_bytes()[:-20])
    assert checked("in", *more, format="parquet") == 2
    assert f"/in/{torn} is not a Parquet file" in checked.err
    assert "Declare" not in checked.err, "a schema does not mend it"
    if torn == "a.parquet" and not more:
        assert "Set file_format_type to the format of the files" in checked.err
