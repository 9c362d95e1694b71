"""``seatunnel help``: the page of a connector, and the description of what a plugin declares."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import example
from tests.foundation.snippets import names_a_server, plan_only


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["help", *arguments]) == 0
    return capsys.readouterr().out


def test_without_a_name_every_plugin_is_listed_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys).splitlines()
    assert {"sources:", "transforms:", "sinks:"} <= set(lines)
    names = {line.split()[0] for line in lines if line.startswith("  ")}
    assert names == {plugin.identifier for plugin in lookup.plugins()}
    assert not [line for line in lines if line.startswith("  ") and len(line.split()) < 3], "a plugin says nothing"


def test_a_name_shows_the_page_and_a_kind_shows_one_description(capsys: pytest.CaptureFixture[str]) -> None:
    page = said(capsys, "localfile")
    assert page.strip().startswith("LocalFile")
    assert {"The source", "The sink", "Watched folders"} <= {line.strip() for line in page.splitlines()}
    one = said(capsys, "sink", "LocalFile")
    assert one.startswith("LocalFile: a sink of seatunnel-core")
    assert "a source of" not in one


def test_options_guarantees_and_an_example_stand_there(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "sink", "LocalFile")
    assert "  path  (text, required)\n" in text
    assert "  batch_size  (integer from 1 to 2147483647, rows, default 1000000)\n" in text
    assert "  file_format_type, older: file_format, older: format  (one of csv, text, json," in text
    assert "exactly-once: rows are staged" in text
    assert "can roll back published output" in text
    assert "options of every sink:\n  plugin_input" in text
    assert "  sink {\n    LocalFile {\n" in text


@pytest.mark.parametrize("plugin", list(lookup.plugins()), ids=lambda each: f"{each.kind}-{each.identifier}")
def test_every_plugin_has_all_of_it(plugin: lookup.Plugin, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, plugin.kind, plugin.identifier)
    assert plugin.declared is not None
    for option in plugin.declared.declared:  # type: ignore[attr-defined]
        assert f"\n  {option.key}" in text, option.key
        assert option.doc, f"{option.key} has no meaning"
    assert example(plugin.kind, plugin.declared)


def test_a_wrong_name_is_answered_with_what_may_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "sink", "Consol"]) == 2
    assert "there is no sink 'Consol'; did you mean Console?" in capsys.readouterr().err
    assert main(["help", "Console", "LocalFile"]) == 2
    assert "Expected one name, not" in capsys.readouterr().err


def test_a_broken_plugin_is_reported_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    point = EntryPoint(name="Weekly", value="no_such_module:Weekly", group="seatunnel.sink")
    monkeypatch.setattr(lookup, "entry_points", lambda group: [point] if group == point.group else [])
    lookup.forget()
    try:
        assert main(["help", "weekly"]) == 1
    finally:
        monkeypatch.undo()
        lookup.forget()
    assert "No module named 'no_such_module'" in capsys.readouterr().out


FROM_CODE_ONLY = ("Memory",)
PEOPLE = "FakeSource { plugin_output = people, schema { table = people, fields { id = bigint, name = string } } }"
BESIDE = {
    "source": "EXAMPLE\nsink { Console { } }",
    "transform": f"source {{ {PEOPLE} }}\nEXAMPLE\nsink {{ Console {{ }} }}",
    "sink": f"source {{ {PEOPLE} }}\nEXAMPLE",
}


@pytest.fixture
def my_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one that examples name; gone afterwards, because other tests have a package of this name, too."""
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "cleaning.py").write_text("enrich = trim = lambda rows: rows\n")
    (tmp_path / "my_package" / "sales.py").write_text("rows = lambda: [{'id': 1}]\n")
    shop = "import dlt\n\n\n@dlt.resource\ndef orders(page_size=1):\n    yield {'id': 1}\n"
    (tmp_path / "my_package" / "shop.py").write_text(shop)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("my_package")]:
        del sys.modules[name]


@pytest.mark.usefixtures("my_package")
@pytest.mark.parametrize("plugin", list(lookup.plugins()), ids=lambda each: f"{each.kind}-{each.identifier}")
def test_the_example_is_a_job(plugin: lookup.Plugin, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if plugin.identifier in FROM_CODE_ONLY or plugin.distribution != "seatunnel-core":
        return
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "people.csv").write_text("id,name\n1,Joy\n")
    (tmp_path / "people.json").write_text('{"id": 1, "name": "Joy"}\n')
    assert plugin.declared is not None
    job = BESIDE[plugin.kind].replace("EXAMPLE", example(plugin.kind, plugin.declared))
    if names_a_server(job):
        plan_only(job)
        return
    (tmp_path / "job.conf").write_text(job.replace("/data/", f"{tmp_path}/"), encoding="utf-8")
    code = main(["-c", str(tmp_path / "job.conf"), "--check", "--strict"])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "guarantee: " in said.out
