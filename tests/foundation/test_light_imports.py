"""Whoever writes a storage plugin, or asks for help, does not pay for Spark."""

import resource
import subprocess
import sys

import pytest

HEAVY = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "fsspec")


def loaded_by(code: str) -> set[str]:
    """The heavy packages, and rich, that a fresh interpreter has loaded after ``code``."""
    report = f"\nimport sys; print(*(name for name in {(*HEAVY, 'rich')!r} if name in sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "module",
    [
        *("seatunnel_core", "seatunnel_storage_api", "seatunnel_core.errors"),
        *("seatunnel_core.control.cluster_jobs", "seatunnel_core.control.rest_client"),  # for Airflow and Dagster
    ],
)
def test_importing_the_packages_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


@pytest.mark.parametrize(
    "module", ["seatunnel_core.job", "seatunnel_core.checkpoint", "seatunnel_core.config", "seatunnel_core.inspector"]
)
def test_the_pure_layers_load_nothing_heavy(module: str) -> None:
    everything = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module({module!r})\n"
        "for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(found.name)"
    )
    assert loaded_by(everything) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["init", "--help"],
        ["checkpoints", "--help"],
        ["checkpoints", "gc", "--help"],
        ["--hlep"],
    ],
)
def test_the_command_answers_without_loading_anything_heavy(arguments: list[str]) -> None:
    code = f"from seatunnel_core.cli.main import main\ntry: main({arguments!r})\nexcept SystemExit: pass"
    assert loaded_by(code) & {*HEAVY, "rich"} == set()


def test_help_takes_less_than_300_ms() -> None:
    """Processor time, and the best of five: another process on the machine must not fail it."""
    best = min(processor_seconds("-m", "seatunnel_core.cli", "--help") for _ in range(5))
    assert best < 0.3


def processor_seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
