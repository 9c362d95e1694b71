"""The guide to change data capture, typed as it stands, and ``make cdc-demo``, which does it in one command."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.foundation.snippets import ROOT, snippets
from tests.servers.process import free_port

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(600)]

PAGE = "docs/guides/change-data.md"
EXAMPLE = ROOT / "examples/change-data"


def environment(folder: Path) -> dict[str, str]:
    """Return that of a user whose programs are those of this Python, and whose home is a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    python = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": python}
    return os.environ | own | {"PATH": path}


def test_the_job_of_the_guide_is_the_one_of_the_example() -> None:
    (job,) = [each.text for each in snippets("hocon") if each.page == PAGE and "shop-copy" in each.text]
    assert job == (EXAMPLE / "copy.conf").read_text("utf-8")


def test_the_guide_copies_a_database_over_a_kill(tmp_path: Path) -> None:
    found = [each.text for each in snippets("shell") if each.page == PAGE]
    typed = "\n".join(text for text in found if "-c /" not in text and "tables reread" not in text)
    reachable = Path(tempfile.mkdtemp(prefix="seatunnel-guide-"))  # for PostgreSQL's user, if root starts it
    reachable.chmod(0o755)
    server = f"--folder {reachable}/server"
    typed = typed.replace("server.py start", f"server.py start --port {free_port()} {server}")
    typed = typed.replace("server.py stop", f"server.py stop {server}")
    typed = typed.replace("examples/", f"{ROOT}/examples/")
    ended = f"trap 'kill $writer $job 2> /dev/null || true; python {EXAMPLE}/server.py stop {server}' EXIT\n"
    done = subprocess.run(
        ["sh", "-euc", f"writer= job=\n{ended}{typed}"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "Every row is the same." in told
    assert re.search(r"accounts: 5,000 rows, 5,000 in the copy, equal", told)
    reachable.rmdir()  # the server has removed its folder


@pytest.mark.twin
def test_the_demo_is_one_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE / "demo.py")],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("kill -9") == 2
    assert "Every row is the same." in done.stdout
