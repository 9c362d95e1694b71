"""The documentation as a site: built strictly, so that a link or an anchor that leads nowhere fails it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import seatunnel_storage_mapstore.frames as frames

from seatunnel_core.checkpoint import codec, frozen
from seatunnel_storage_api import envelope

ROOT = Path(__file__).parents[2]


def build(clone: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "connectors" / "LocalFile.html").is_file()


def test_an_anchor_that_is_not_there_fails_it(tmp_path: Path) -> None:
    for name in ("mkdocs.yml", ".ci/site_links.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[there](#nowhere)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "nowhere" in done.stdout + done.stderr


def test_the_table_of_formats_is_what_the_code_writes() -> None:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+?) \| (\d+) \| \d+ \|$", page, re.MULTILINE))
    assert table == {
        "checkpoint file: seal and header": str(envelope.FORMAT_VERSION),
        "state of a source, task or sink in a checkpoint": str(codec.VERTEX_VERSION),
        "enumeration of a source": str(frozen.FORMAT_VERSION),
        "segment of a map store": str(frames.FORMAT_VERSION),
    }
