"""The files of the page: which are served, that they are safe, and that libraries are what they are said to be."""

import re
from pathlib import Path

import pytest

from seatunnel_core.page.assets import HEADERS, START, asset
from tests.page.libraries import LIBRARIES, NOTE, PAGE, VENDOR, note

STATIC = PAGE / "static"
OWN = [path for path in sorted(STATIC.iterdir()) if path.suffix in (".js", ".html", ".css")]


def test_each_file_is_served_as_what_it_is() -> None:
    for path in STATIC.rglob("*"):
        if path.is_file():
            found = asset(path.relative_to(STATIC).as_posix())
            assert found is not None, path
            assert found.body == path.read_bytes()
    script, start = asset("app.js"), asset(START)
    assert script is not None
    assert start is not None
    assert script.kind.startswith("text/javascript")
    assert start.kind.startswith("text/html")
    assert script.tag != start.tag


@pytest.mark.parametrize(
    "name", ["", "../assets.py", "..%2fassets.py", "/etc/passwd", "vendor", "vendor/../app.js", "app"]
)
def test_nothing_else_is(name: str) -> None:
    assert asset(name) is None


def test_only_what_comes_from_the_node_itself_may_run() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert "script-src" not in policy, "the default holds for scripts, too"
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_the_page_makes_text_of_what_it_is_told_and_loads_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|srcdoc"
    assert re.findall(forbidden, text) == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)\S+", text) == []
    assert re.findall(r"<script(?![^>]*\bsrc=)|\son\w+=\"|<style|\sstyle=\"", text) == []


def test_each_import_and_each_link_leads_to_a_file() -> None:
    for path in OWN:
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"""from "\./([\w./-]+)";""", text):
            assert (STATIC / name).is_file(), f"{path.name} imports {name}"
        for name in re.findall(r"""(?:src|href)="page/([\w./-]+)\"""", text):
            assert (STATIC / name).is_file(), f"{path.name} names {name}"


def test_the_libraries_are_those_that_are_listed_with_their_licences() -> None:
    assert NOTE.read_text(encoding="utf-8") == note()
    assert {path.name for path in VENDOR.iterdir()} == {name for library in LIBRARIES for name in library.files}
    for library in LIBRARIES:
        (licence,) = (name for name in library.files if name.endswith(".LICENSE.txt"))
        said = (VENDOR / licence).read_text(encoding="utf-8")
        assert {"MIT": "Permission is hereby granted", "Apache-2.0": "Apache License"}[library.licence] in said


def test_the_page_is_small() -> None:
    """All that a browser loads once, in bytes."""
    assert sum(path.stat().st_size for path in STATIC.rglob("*.*") if path.suffix != ".txt") < 220_000
