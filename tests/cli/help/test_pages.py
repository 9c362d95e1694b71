"""``seatunnel help PAGE``: every page that a message names is there, in a clone and in the wheel."""

import re
import tomllib

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.manual.pages import pages
from tests.foundation.clone import ROOT

NAMED = {
    name
    for folder in ("seatunnel_core", "seatunnel_storage_api", "plugins")
    for file in (ROOT / folder).rglob("*.py")
    for name in re.findall(r"`seatunnel\s+help\s+([a-z][a-z-]*)`", file.read_text(encoding="utf-8"))
}


def test_every_page_that_is_named_is_there() -> None:
    """Messages named files of the clone, which whoever installs a wheel has not got."""
    assert {"restore", "sql-functions"} <= NAMED
    assert set() == NAMED - set(pages())


def test_the_wheel_brings_them() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    inside = "seatunnel_core/manual/documentation/"
    brought = {target.removeprefix(inside): page for page, target in wheel["force-include"].items()}
    assert set() == NAMED - {name.removesuffix(".md") for name in brought}
    assert [page for page in brought.values() if not (ROOT / page).is_file()] == []


def test_no_message_names_a_file_of_the_clone() -> None:
    spoken = [
        f"{file.relative_to(ROOT)}:{number}"
        for folder in ("seatunnel_core", "seatunnel_storage_api", "plugins")
        for file in (ROOT / folder).rglob("*.py")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<!`)docs/[\w/-]+\.md", line)
    ]
    assert spoken == []


def test_a_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "Savepoints"]) == 0
    assert "savepoint" in capsys.readouterr().out


def test_the_list_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert "restore, savepoints" in capsys.readouterr().out
