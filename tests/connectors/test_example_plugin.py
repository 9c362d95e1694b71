"""The example of a third party's connector: found once it is installed, and sound by its own test."""

import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "connector_plugin"
METADATA = "Metadata-Version: 2.1\nName: seatunnel-counting\nVersion: 0.1.0\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The package as pip would leave it, without a network: its folder on the path and its metadata beside it."""
    found = tmp_path / "seatunnel_counting-0.1.0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text(METADATA)
    text = (EXAMPLE / "pyproject.toml").read_text()
    section = text.split('[project.entry-points."seatunnel.source"]\n')[1].split("\n\n")[0]
    (found / "entry_points.txt").write_text("[seatunnel.source]\n" + section.replace('"', "") + "\n")
    assert Distribution.at(found).entry_points
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{EXAMPLE}")
    return str(tmp_path)


def run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.usefixtures("installed")
def test_the_example_is_found_by_its_name_once_it_is_installed() -> None:
    code = "from seatunnel_core.connectors import registry; print(registry.source('counting'))"
    assert run("-c", code).strip() == "<class 'seatunnel_counting.CountingSource'>"


@pytest.mark.usefixtures("installed")
def test_the_example_passes_its_own_test() -> None:
    shown = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert "8 passed" in shown
