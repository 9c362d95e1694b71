"""What travels to a cluster's executors is found by asking, not by a list."""

import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.executor_probe import probe
from seatunnel_core.spark.shipping import TASK_MODULES, imports_of, modules_in, what_to_do, write_archive
from seatunnel_core.work.split import Split


def test_the_modules_of_a_pickle_are_those_that_unpickling_imports() -> None:
    things = [Split(index=0, weight_bytes=1, rows=1, body={}), Path("a"), write_archive, Split]
    modules = modules_in(pickle.dumps(things, protocol=5))
    assert "seatunnel_core.work.split" in modules
    assert "seatunnel_core.spark.shipping" in modules
    assert any(module.partition(".")[0] == "pathlib" for module in modules)
    assert all(module.partition(".")[0] in {"seatunnel_core", "pathlib", "builtins", "copyreg"} for module in modules)


def test_the_tasks_code_runs_from_the_archive_alone(tmp_path: Path) -> None:
    """A Python that sees the archive and pyarrow, and none of our folders."""
    found = imports_of(TASK_MODULES)
    assert found.compiled == ("pyarrow",)
    assert {"seatunnel_core", "seatunnel_storage_api", "attrs", "attr"} <= set(found.pure)
    write_archive(tmp_path / "code.zip", found.pure)
    assert not any("__pycache__" in name for name in zipfile.ZipFile(tmp_path / "code.zip").namelist())
    import pyarrow

    (tmp_path / "pyarrow").symlink_to(Path(pyarrow.__file__).parent)
    code = f"""
import sys
sys.path[1:1] = [{str(tmp_path / "code.zip")!r}, {str(tmp_path)!r}]
import {", ".join(TASK_MODULES)}
print(seatunnel_core.spark.task.__file__)
"""
    answer = subprocess.run(
        [sys.executable, "-S", "-E", "-s", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith(str(tmp_path / "code.zip"))


def test_what_cannot_be_imported_is_said_with_the_reason() -> None:
    with pytest.raises(
        PlatformError, match=r"cannot be imported \(no_such_plugin\): .*No module named 'no_such_plugin'"
    ):
        imports_of(["no_such_plugin"])


def test_a_module_that_an_executor_lacks_is_reported_with_who_needs_it_and_the_pip_line() -> None:
    (answer,) = probe(["pyarrow", "no_such_driver"], 0, [], 1, [])
    declared = {"no_such_driver": "the sink Nowhere"}
    said = what_to_do(answer["node"], answer["python"], answer["missing"], declared)
    assert "cannot import no_such_driver, which the sink Nowhere needs (ModuleNotFoundError: No module" in said
    assert f"Run there: {sys.executable} -m pip install no_such_driver —" in said
