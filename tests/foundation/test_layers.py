"""The layers of the packages, as pyproject.toml declares them, and no circle in any of them."""

import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "seatunnel_core",
    "seatunnel_storage_api",
    "seatunnel_storage_hdfs",
    "seatunnel_storage_jdbc",
    "seatunnel_storage_localfile",
    "seatunnel_storage_mapstore",
)


def test_nothing_imports_what_stands_above_it() -> None:
    """In a process of its own: the linter configures logging, and so turns off every logger that exists."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_modules_import_each_other() -> None:
    """Not by a way over others either, and not inside functions."""
    graph = grimp.build_graph(PACKAGES[0], *PACKAGES[1:], exclude_type_checking_imports=True, cache_dir=None)
    left = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    while ends := [module for module, imports in left.items() if not imports & left.keys()]:
        for module in ends:
            del left[module]
    assert not left, "these stand in a circle, or import one that does"
