"""One Spark for all tests of this folder, and the smallest source and sink that can be watched."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from pyspark import cloudpickle

from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.packing import ShareMode
from seatunnel_core.spark.starting.settings import SparkSettings

sys.path.insert(0, str(Path(__file__).parent))
import watched

cloudpickle.register_pickle_by_value(watched)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses Spark here shares one process, and so one JVM, when the tests run in several."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "backend" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkBackend]:
    folder = tmp_path_factory.mktemp("spark")
    backend = SparkBackend(SparkSettings(parallelism=2, log_file=folder / "spark.log", cache=folder))
    backend.start()
    yield backend
    backend.stop()


@pytest.fixture
def ticket() -> str:
    return os.urandom(4).hex()


@pytest.fixture
def dispatcher_of(backend: SparkBackend) -> Iterator[Callable[..., UnitDispatcher]]:
    made: list[UnitDispatcher] = []

    def make(mode: ShareMode = ShareMode.PART, slots: int | None = None) -> UnitDispatcher:
        made.append(UnitDispatcher(backend, mode, slots))
        return made[-1]

    yield make
    for dispatcher in made:
        dispatcher.close()
