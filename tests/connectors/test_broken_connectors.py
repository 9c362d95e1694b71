"""The kit finds every rule that a connector breaks: connectors that are wrong in the ways that real ones go wrong."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import (
    EndlessSourceConformance,
    SinkConformance,
    SourceConformance,
    TransformConformance,
)
from seatunnel_core.errors import SinkError
from tests.connectors.broken import endless, page, sinks, sources, transforms
from tests.connectors.broken.given import ENDLESS, SINKS, SOURCES, TRANSFORMS

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "broken-connectors.md"


class OfNumbers(SourceConformance):
    source_class = sources.Honest

    def options(self) -> Mapping[str, Any]:
        return {"count": 25}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{"number": number} for number in range(25)]


class OfNumbersWithoutEnd(EndlessSourceConformance):
    source_class = endless.Honest

    def options(self) -> Mapping[str, Any]:
        return {"count": 1000}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{"number": number} for number in range(endless.LOOKS * 10)]


class OfJsonLines(SinkConformance):
    sink_class = sinks.Honest
    folder: Path

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder)}

    def elsewhere(self) -> Mapping[str, Any]:
        return {"path": f"{self.folder}/other"}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        files = self.folder.glob("*.json")
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def staged(self) -> int:
        return sum(path.is_file() for path in self.folder.glob(".seatunnel/*/*/*/*"))

    def lose(self) -> bool:
        shutil.rmtree(self.folder)
        return True

    def lose_table(self) -> bool:
        table = self.folder / "table"
        if not table.exists():
            return False
        table.rmdir()
        return True


class OfAdding(TransformConformance):
    transform_class = transforms.Honest

    def options(self) -> Mapping[str, Any]:
        return {"by": 2}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": 1}, {"id": None}, {"id": 3}]

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": 3}, {"id": None}, {"id": 5}]


def rules(suite: type) -> set[str]:
    return {name.removeprefix("test_") for name in dir(suite) if name.startswith("test_")}


def try_rule(suite: Any, rule: str) -> None:
    getattr(suite, f"test_{rule}")()


@pytest.mark.parametrize("rule", sorted(rules(OfNumbers)))
def test_the_honest_source_passes(rule: str) -> None:
    try_rule(OfNumbers(), rule)


@pytest.mark.parametrize(
    "source", [endless.Honest, endless.Reporting, endless.ReportingInPairs, endless.SkipsOlderFactsInOrder]
)
@pytest.mark.parametrize("rule", sorted(rules(OfNumbersWithoutEnd)))
def test_the_honest_source_without_an_end_passes(source: type[endless.Honest], rule: str) -> None:
    suite = OfNumbersWithoutEnd()
    suite.source_class = source
    try_rule(suite, rule)


@pytest.mark.parametrize("rule", sorted(rules(OfJsonLines)))
def test_the_honest_sink_passes(rule: str, tmp_path: Path) -> None:
    suite = OfJsonLines()
    suite.folder = tmp_path
    try_rule(suite, rule)


@pytest.mark.parametrize("rule", [rule for rule in sorted(rules(OfJsonLines)) if not rule.startswith("killed")])
def test_the_honest_sink_with_a_save_mode_passes(rule: str, tmp_path: Path) -> None:
    suite = OfJsonLines()
    suite.folder, suite.sink_class = tmp_path, sinks.Emptying
    try_rule(suite, rule)


@pytest.mark.parametrize("rule", sorted(rules(OfAdding)))
def test_the_honest_transform_passes(rule: str) -> None:
    try_rule(OfAdding(), rule)


@pytest.mark.parametrize(("broken", "rule"), TRANSFORMS.items())
def test_a_broken_transform_is_found(broken: type, rule: str) -> None:
    suite = OfAdding()
    suite.transform_class = broken  # type: ignore[assignment]
    with pytest.raises(AssertionError):
        try_rule(suite, rule)


@pytest.mark.parametrize(("broken", "rule"), SOURCES.items())
def test_a_broken_source_is_found(broken: type, rule: str) -> None:
    suite = OfNumbers()
    suite.source_class = broken  # type: ignore[assignment]
    with pytest.raises(AssertionError):
        try_rule(suite, rule)


@pytest.mark.parametrize(("broken", "rule"), ENDLESS.items())
def test_a_broken_source_without_an_end_is_found(broken: type, rule: str) -> None:
    suite = OfNumbersWithoutEnd()
    suite.source_class = broken  # type: ignore[assignment]
    with pytest.raises(AssertionError):
        try_rule(suite, rule)


@pytest.mark.parametrize(("broken", "rule"), SINKS.items())
def test_a_broken_sink_is_found(broken: type, rule: str, tmp_path: Path) -> None:
    suite = OfJsonLines()
    suite.folder, suite.sink_class = tmp_path, broken  # type: ignore[assignment]
    with pytest.raises((AssertionError, pytest.fail.Exception, SinkError)):
        try_rule(suite, rule)


def test_every_rule_is_broken_by_one() -> None:
    assert set(SOURCES.values()) == rules(OfNumbers)
    assert set(ENDLESS.values()) == rules(OfNumbersWithoutEnd)
    assert set(SINKS.values()) == rules(OfJsonLines)
    assert set(TRANSFORMS.values()) == rules(OfAdding)


def test_the_page_lists_them_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == page.page()
