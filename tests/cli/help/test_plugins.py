"""``seatunnel plugins``: a broken plugin is shown with its reason and does not hide the others."""

import pytest

from seatunnel_core.cli.help import plugins
from seatunnel_core.cli.main import main
from seatunnel_core.registry.lookup import Plugin
from seatunnel_storage_api.discovery import PluginInfo, PluginState


def sink(identifier: str, state: str) -> Plugin:
    return Plugin(kind="sink", identifier=identifier, distribution="some-package", version="1.2", state=state)


def test_each_plugin_with_its_package_and_state(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = PluginInfo(identifier="hdfs", distribution="storage", version="0.1", state=PluginState.READY)
    monkeypatch.setattr(plugins, "list_storages", lambda: (storage,))
    monkeypatch.setattr(plugins.lookup, "plugins", lambda: iter([sink("Console", "ok")]))  # type: ignore[attr-defined]
    assert main(["plugins"]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["hdfs", "storage", "0.1", "ok"] in said
    assert ["Console", "some-package", "1.2", "ok"] in said
    assert ["none", "is", "installed"] in said


def test_a_broken_one_is_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    broken = PluginInfo(
        identifier="mine", distribution="mine", version="1", state=PluginState.BROKEN, problem="cannot be loaded"
    )
    monkeypatch.setattr(plugins, "list_storages", lambda: (broken,))
    monkeypatch.setattr(plugins.lookup, "plugins", lambda: iter([sink("A", "no class"), sink("B", "ok")]))  # type: ignore[attr-defined]
    assert main(["plugins"]) == 1
    said = capsys.readouterr().out
    assert "cannot be loaded" in said
    assert "no class" in said
    assert "B" in said


def test_a_missing_extra_is_reported_with_the_line_for_pip(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``ok`` stood behind plugins that failed for want of a package when a job used them."""
    lacking = Plugin(
        kind="sink",
        identifier="Kafka",
        distribution="seatunnel-core",
        version="1",
        state="ok",
        lacking=("confluent-kafka",),
        extra="kafka",
    )
    monkeypatch.setattr(plugins, "list_storages", lambda: ())
    monkeypatch.setattr(plugins.lookup, "plugins", lambda: iter([lacking]))  # type: ignore[attr-defined]
    assert main(["plugins"]) == 0
    assert "needs confluent-kafka: in a clone of this project, run pip install '.[kafka]'" in capsys.readouterr().out


def test_columns_are_as_wide_as_their_longest_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = PluginInfo(
        identifier="s", distribution="a-distribution-with-a-long-name", version="10.20.30", state=PluginState.READY
    )
    monkeypatch.setattr(plugins, "list_storages", lambda: (storage,))
    monkeypatch.setattr(plugins.lookup, "plugins", lambda: iter([sink("ASinkWithALongNameOfItsOwn", "ok")]))  # type: ignore[attr-defined]
    assert main(["plugins"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith(" ok")]
    assert len(lines) == 2
    assert len({len(line) for line in lines}) == 1
