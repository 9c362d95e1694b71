"""What a stranger meets with a clone of the repository: no rights, a home of its own, no Java, nothing in a cache."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.figures import Figure
from tests.foundation.clone import clone

NOBODY = 65534
FLIGHTS = 336_776

pytestmark = [pytest.mark.install, pytest.mark.twin, pytest.mark.xdist_group("bare-machine")]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Belongs to the user without rights. Not below ``tmp_path``, which only the user of the test may enter."""
    made = Path(tempfile.mkdtemp(prefix="seatunnel bare "))  # with blanks, as in "My Documents"
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def path_without_java(folder: Path) -> str:
    """A folder of links to every command that another user may run here, Java's left out: ``/usr/bin`` holds both."""
    links = folder / "bin"
    links.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for command in Path(place).iterdir() if Path(place).is_dir() else ():
            if not re.match(r"j(ava|re|dk|shell|link)", command.name) and not (links / command.name).is_symlink():
                (links / command.name).symlink_to(command)
    return str(links)


def as_stranger(command: list[str], folder: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the clone. What is set for pip stays: it says where the packages come from."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    without_rights = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if not os.getuid() else []
    return subprocess.run(
        [*without_rights, *command],
        cwd=folder / "clone",
        env=kept | {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PATH": path, "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.timeout(3600)
def test_the_demo_runs_in_a_fresh_clone(folder: Path, figure: Figure) -> None:
    clone(folder / "clone")
    path = path_without_java(folder)
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    if not os.getuid():
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(folder)], check=True)
    assert as_stranger(["sh", "-c", "command -v java"], folder, path).returncode != 0

    begun = time.monotonic()
    demo = as_stranger(["make", "demo"], folder, path)
    seconds = time.monotonic() - begun
    assert demo.returncode == 0, demo.stdout
    assert re.search(r"flights\) finished", demo.stdout), demo.stdout
    assert "367,687    367,687" in demo.stdout, "the closing table"
    files = list((folder / "clone/demo-output/parquet/flights").rglob("*.parquet"))
    assert sum(pq.ParquetFile(file).metadata.num_rows for file in files) == FLIGHTS

    begun = time.monotonic()
    again = as_stranger(["make", "demo"], folder, path)
    assert again.returncode == 0, again.stdout
    figure(f"make demo took {seconds:.0f} s with all set-up, and {time.monotonic() - begun:.0f} s the second time")
