"""Finding plugins by name."""

from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import frozen

from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import UsageError
from seatunnel_core.registry import lookup
from seatunnel_core.transforms.filter import Filter


@frozen
class Distribution:
    name: str
    version: str = "1.2"
    requires: None = None


def point(name: str, value: str, distribution: str) -> Any:
    found = EntryPoint(name=name, value=value, group="seatunnel.source")
    return SimpleNamespace(
        name=name,
        value=value,
        load=found.load,
        extras=(),
        dist=Distribution(distribution),
    )


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    points: list[Any] = []
    monkeypatch.setattr(lookup, "entry_points", lambda group: points if group == "seatunnel.source" else [])
    lookup.forget()
    yield points
    monkeypatch.undo()
    lookup.forget()


def test_built_in_plugins_are_found_without_regard_to_case() -> None:
    assert lookup.source("localfile") is LocalFileSource
    assert lookup.sink("CONSOLE") is ConsoleSink
    assert lookup.transform("Filter") is Filter


def test_every_installed_plugin_loads() -> None:
    found = {(plugin.kind, plugin.identifier): plugin.state for plugin in lookup.plugins()}
    assert set(found.values()) == {"ok"}
    assert {("source", "FakeSource"), ("transform", "SparkSql"), ("sink", "Assert")} <= set(found)


def test_an_unknown_name_suggests_one() -> None:
    with pytest.raises(UsageError, match="there is no source 'LocalFiles'; did you mean LocalFile"):
        lookup.source("LocalFiles")
    with pytest.raises(UsageError, match=r"installed: Assert, Console, (\w+, )*LocalFile, (\w+, )*Spark"):
        lookup.sink("Nowhere")


def test_a_broken_plugin_hurts_nobody_who_does_not_name_it(installed: list[Any]) -> None:
    installed += [
        point("Broken", "no.such.module:Source", "broken-plugin"),
        point("LocalFile", "seatunnel_core.connectors.file.source:LocalFileSource", "seatunnel-core"),
    ]
    assert lookup.source("LocalFile") is LocalFileSource
    with pytest.raises(
        UsageError, match=r"'Broken' of the package broken-plugin cannot be loaded: ModuleNotFoundError"
    ):
        lookup.source("broken")
    assert [(plugin.identifier, plugin.version, plugin.state == "ok") for plugin in lookup.plugins()] == [
        ("Broken", "1.2", False),
        ("LocalFile", "1.2", True),
    ]


def test_two_packages_with_one_name_are_refused(installed: list[Any]) -> None:
    installed += [point("A", "one:A", "first"), point("a", "two:A", "second")]
    with pytest.raises(UsageError, match="is provided by first and second: uninstall one"):
        lookup.source("A")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("seatunnel_core.connectors.console:ConsoleSink", "is not a subclass of Source"),
        ("seatunnel_core.connectors.file.source:LocalFileSource", "has the identifier 'LocalFile'"),
    ],
)
def test_a_plugin_of_the_wrong_kind_or_name_is_refused(installed: list[Any], value: str, message: str) -> None:
    installed.append(point("Other", value, "plugin"))
    with pytest.raises(UsageError, match=message):
        lookup.source("Other")
