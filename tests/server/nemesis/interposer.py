"""A library between a node's processes and the C library: see ``interposer.c``."""

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

from attrs import define, field

SOURCE = Path(__file__).parent / "interposer.c"
LAYOUT = struct.Struct("=qqqqq")


def can_be_had() -> bool:
    """Return whether the library can be built here."""
    return shutil.which("cc") is not None


def built(folder: Path) -> Path:
    """Build the library, and return it."""
    library = folder / "interposer.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@define(eq=False)
class Interposer:
    """What the library does to one node.

    Args:
        library: which is loaded before the C library.
        control: a file by which it is told.
        folder: whose files can be made slow or broken.
    """

    library: Path
    control: Path
    folder: Path
    _told: dict[str, int] = field(factory=lambda: {"seconds": 0, "delay_ms": 0, "error": 0, "hangs": 0, "reads": 0})

    def variables(self) -> dict[str, str]:
        """Return what the environment of the node's processes needs."""
        self.control.write_bytes(LAYOUT.pack(*self._told.values()))
        return {
            "LD_PRELOAD": str(self.library),
            "NEMESIS_CONTROL": str(self.control),
            "NEMESIS_FOLDER": str(self.folder),
        }

    def tell(self, **what: int) -> None:
        """Change how many ``seconds`` the clock is ahead, and what becomes of calls about the folder."""
        self._told |= what
        with self.control.open("r+b") as file, mmap.mmap(file.fileno(), LAYOUT.size) as shown:
            shown[:] = LAYOUT.pack(*self._told.values())
