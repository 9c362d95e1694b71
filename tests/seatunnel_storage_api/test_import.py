"""What ``import seatunnel_storage_api`` costs."""

import subprocess
import sys
from collections.abc import Callable

import pytest

import seatunnel_storage_api

TIMED = """
import sys, time
begin = time.process_time()
{statement}
print((time.process_time() - begin) * 1000, *sys.modules)
"""
LATE = {"pluggy", "importlib.metadata", "pytest", "hypothesis", "seatunnel_storage_api.testing", "asyncio"}
ROUNDS = 8
BOUND_MS = 100
"""Of processor time, on any machine that runs the tests."""

INTERFACE = "import seatunnel_storage_api"
EVERY_NAME = "from seatunnel_storage_api import *"
FLOOR = "import attrs"
"""The one dependency: nothing that uses values can cost less."""


def spent(statement: str) -> tuple[float, set[str]]:
    """Milliseconds of processor time that a statement takes in a new interpreter, and the modules loaded after it."""
    program = TIMED.format(statement=statement)
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    spent_ms, *modules = answer.split()
    return float(spent_ms), set(modules)


def test_importing_it_takes_under_100_ms(record_property: Callable[[str, object], None]) -> None:
    """The best of several interleaved rounds: other processes take caches and hyper-threads away from each alike.

    The floor is measured beside it, so that a failure shows at once whether the machine is slow or the import grew.
    """
    rounds = [[spent(statement)[0] for statement in (FLOOR, INTERFACE, EVERY_NAME)] for _ in range(ROUNDS)]
    floor_ms, interface_ms, every_name_ms = (min(column) for column in zip(*rounds, strict=True))
    figures = (
        f"floor ({FLOOR}) {floor_ms:.1f} ms; {INTERFACE} {interface_ms:.1f} ms, {interface_ms / floor_ms:.2f} floors; "
        f"{EVERY_NAME} {every_name_ms:.1f} ms, {every_name_ms / floor_ms:.2f} floors"
    )
    record_property("import", figures)
    print(figures)
    assert interface_ms < BOUND_MS, figures
    assert interface_ms < floor_ms, figures
    assert every_name_ms < 2 * floor_ms, figures


def test_what_only_some_need_is_imported_by_those() -> None:
    """The kit and the discovery are imported by who wants them, attrs by who uses a value."""
    assert spent(INTERFACE)[1] & (LATE | {"attr", "seatunnel_storage_api.state"}) == set()
    assert spent(EVERY_NAME)[1] & LATE == set()


def test_every_public_name_is_there() -> None:
    assert all(getattr(seatunnel_storage_api, name).__name__ == name for name in seatunnel_storage_api.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'seatunnel_storage_api' has no attribute 'Checkpoint'"):
        seatunnel_storage_api.Checkpoint  # type: ignore[attr-defined]  # noqa: B018
