"""A small disk of its own, for what a cluster keeps or for what its jobs write: it can be full or frozen."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

DISK_BYTES = 512 * 1024 * 1024
NEEDED = ("mkfs.ext4", "mount", "umount", "fsfreeze")


def can_be_had() -> bool:
    """Return whether this process may mount a disk."""
    return os.geteuid() == 0 and all(shutil.which(command) for command in NEEDED)


@frozen
class Disk:
    """A mounted file system.

    Args:
        folder: where it is mounted.
    """

    folder: Path

    def fill(self) -> None:
        """Leave no room for a single block."""
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def empty(self) -> None:
        """Give the room back."""
        (self.folder / "filler").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let whoever writes wait; so it may be already."""
        subprocess.run(["fsfreeze", "-f", str(self.folder)], check=False, capture_output=True)

    def thaw(self) -> None:
        """Let those who wait go on."""
        subprocess.run(["fsfreeze", "-u", str(self.folder)], check=False, capture_output=True)


@contextmanager
def a_disk(folder: Path, image: Path) -> Iterator[Disk]:
    """Mount a new disk at a folder; in the end it is gone."""
    folder.mkdir(parents=True)
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-N", "100000", "-m", "0", str(image)], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True, capture_output=True)
    disk = Disk(folder)
    try:
        yield disk
    finally:
        disk.thaw()
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
        image.unlink()
