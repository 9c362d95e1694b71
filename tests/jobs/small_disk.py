"""A small file system in memory, which tests fill."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path | None]:
    """A file system of its own in memory, where one may be mounted."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """Write a file until nothing fits any more, and return it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(os.urandom(4096))
    return ballast
