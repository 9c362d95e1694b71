"""``seatunnel help PAGE``: a clone and the wheel contain each page that a message names, and one of each plugin."""

import re
import subprocess
import sys
import tomllib

import pytest

from seatunnel_core.cli.help.printed import for_terminal
from seatunnel_core.cli.main import main
from seatunnel_core.manual.help_page import help_page
from seatunnel_core.manual.pages import page_text, pages, plugin_pages
from tests.cli.help.plugin_pages import built_in
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
    assert [page for page in brought.values() if not (ROOT / page).exists()] == []
    assert {brought["connectors"], brought["transforms"]} == {"docs/reference/connectors", "docs/reference/transforms"}


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


def test_every_built_in_plugin_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert {plugin.identifier.lower() for plugin in built_in()} == set(plugin_pages())
    assert set(plugin_pages()) & set(pages()) <= {"dlt"}, "the page of the connector, which links to the guide"
    assert main(["help", "JDBC"]) == 0
    assert "Consistent snapshot" in capsys.readouterr().out
    served = help_page("Jdbc")
    assert served is not None
    assert served["text"] == page_text("jdbc")


def test_a_terminal_shows_a_list_in_place_of_the_table_of_options() -> None:
    page = for_terminal(page_text("LocalFile") or "")
    assert "| option |" not in page
    assert "<!--" not in page
    assert "* `path` (text, **required**, or `tables_configs`): A file, a folder, or a pattern" in page
    assert "* `file_format_type`, older: `file_format`, older: `format` (one of csv, text, json," in page
    assert "* `binary_chunk_size` (size, bytes, default `1048576`): " in page
    jdbc = for_terminal(page_text("Jdbc") or "")
    assert "\\|" not in jdbc


def test_a_page_is_printed_without_loading_a_plugin() -> None:
    """Loading pyarrow and all connectors took most of a second."""
    program = (
        "import sys; from seatunnel_core.cli.main import main; main(['help', 'Jdbc'])\n"
        "sys.exit([name for name in sys.modules if name.startswith(('pyarrow', 'seatunnel_core.connectors.'))] or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_page_is_answered_with_the_one_that_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "savepoint"]) == 2
    assert "there is no page 'savepoint'; did you mean savepoints?" in capsys.readouterr().err
    assert main(["help", "Jdb"]) == 2
    assert "did you mean Jdbc?" in capsys.readouterr().err
