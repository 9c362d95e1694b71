"""The documentation as a site: built strictly, so that a link or an anchor that leads nowhere fails it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import seatunnel_storage_mapstore.frames as frames
import yaml

from seatunnel_core.checkpoint.state import codec, enumeration
from seatunnel_storage_api import envelope

ROOT = Path(__file__).parents[2]

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
PARTS = yaml.safe_load(CONFIGURATION)["nav"]
LISTED = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def pages_of(part: Any) -> list[str]:
    """Return the pages of a part of the navigation, in order."""
    if isinstance(part, str):
        return [part]
    return [page for each in (part.values() if isinstance(part, dict) else part) for page in pages_of(each)]


def build(clone: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "reference" / "connectors" / "LocalFile.html").is_file()
    pages = {page: page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html")}
    loaded = re.compile(r"<(?:script|img|iframe|link)[^>]* (?:src|href)=\"(?:https?:)?//")
    assert [page.name for page, text in pages.items() if loaded.search(text)] == [], "a page needs the network"
    home = pages[tmp_path / "site" / "index.html"]
    headings = re.findall(r"^## (.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"<h2[^>]*>(.*?)<a", home) == headings, "the home page is the README"


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(page for part in PARTS for page in pages_of(part)) == sorted([*pages, "index.md"])


def test_the_list_of_all_pages_has_the_parts_of_the_navigation() -> None:
    """Pages of which there are many of one kind need not be in it."""
    text = (ROOT / "docs" / "contents.md").read_text(encoding="utf-8")
    listed = {part: set(re.findall(r"\]\(([^)]+)\)", rest)) for part, rest in re.findall(LISTED, text)}
    assert list(listed) == [name for part in PARTS for name in part]
    for part in PARTS:
        (name,) = part
        pages = set(pages_of(part))
        assert {page for page in listed[name] if not page.startswith("../")} <= pages
        assert {page for page in pages if page.count("/") == 1} <= listed[name]


def test_pages_stand_in_the_folder_of_their_part() -> None:
    for part in PARTS:
        (name,) = part
        assert {page.partition("/")[0] for page in pages_of(part)} - {"index.md", "contents.md"} == {name.lower()}


def test_an_anchor_that_is_not_there_fails_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "mkdocs.yml").write_text(CONFIGURATION.partition("\nnav:\n")[0])
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Here\n\n[there](#nowhere)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "nowhere" in done.stdout + done.stderr


def test_the_table_of_formats_is_what_the_code_writes() -> None:
    page = (ROOT / "docs" / "reference" / "versions.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+?) \| (\d+) \| \d+ \|$", page, re.MULTILINE))
    assert table == {
        "checkpoint file: seal and header": str(envelope.FORMAT_VERSION),
        "state of a source, task or sink in a checkpoint": str(codec.VERTEX_VERSION),
        "enumeration of a source": str(enumeration.FORMAT_VERSION),
        "segment of a map store": str(frames.FORMAT_VERSION),
    }
