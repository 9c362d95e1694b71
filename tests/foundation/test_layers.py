"""The layers of the packages, as pyproject.toml declares them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_imports_what_stands_above_it() -> None:
    """In a process of its own: the linter configures logging, and so turns off every logger that exists."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
