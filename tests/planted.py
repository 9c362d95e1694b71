"""Files and links as another user of this machine would place them."""

import os
from pathlib import Path

import pytest

NOBODY = 65534


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file or link that of another user; where this process may not do that, make this process another user."""
    if os.geteuid() == 0:
        os.lchown(path, NOBODY, NOBODY)
    else:
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)


def plant_link(path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Place a symbolic link as another user, in a folder to which everyone can write."""
    path.parent.chmod(0o777)
    path.symlink_to(target)
    give_away(path, monkeypatch)
