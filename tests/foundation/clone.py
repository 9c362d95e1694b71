"""What a person has after ``git clone``: this checkout without what was made in it."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]


def clone(folder: Path) -> None:
    """Copies it. Git is not asked: it refuses a checkout of another user, and CI machines have such, shallow and
    detached ones."""
    made = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", *made))
