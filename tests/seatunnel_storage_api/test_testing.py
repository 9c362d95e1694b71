"""The kit itself: in memory all of it that needs neither disk nor process, and what its processes say."""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.memory import MemoryStorage, MemoryStorageFactory
from seatunnel_storage_api.testing import Backdoor, DictionaryBackdoor, FolderBackdoor, writer
from seatunnel_storage_api.testing.cost import Cost
from seatunnel_storage_api.testing.fencing import Fencing
from seatunnel_storage_api.testing.isolation import Isolation
from seatunnel_storage_api.testing.mistakes import Mistakes
from seatunnel_storage_api.testing.model import Model
from seatunnel_storage_api.testing.ordering import Ordering
from seatunnel_storage_api.testing.retention import Retention
from seatunnel_storage_api.testing.sealing import Sealing


class Unordered(MemoryStorage):
    """Lists in another order each time, as the promise allows."""

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        blobs = list(super().list_blobs(prefix))
        return random.SystemRandom().sample(blobs, len(blobs))


class UnorderedFactory(MemoryStorageFactory):
    def create(self, configuration: Mapping[str, str]) -> MemoryStorage:
        made = super().create(configuration)
        return Unordered(self.blobs, namespace=made.namespace, max_retained=made.max_retained)


class UnorderedBackdoor(DictionaryBackdoor):
    def paths(self) -> list[str]:
        paths = super().paths()
        return random.SystemRandom().sample(paths, len(paths))


class TestInMemory(Sealing, Ordering, Retention, Isolation, Fencing, Mistakes, Cost, Model):
    """The parts that need neither a disk nor another process, and longer random histories. The storage and the backdoor
    list in no order: a kit that counts on one fails now and then where a storage keeps every promise."""

    model_examples = 60

    @pytest.fixture
    def factory(self) -> MemoryStorageFactory:
        return UnorderedFactory()

    @pytest.fixture
    def configuration(self) -> dict[str, str]:
        return {"namespace": "/memory/"}

    @pytest.fixture
    def backdoor(self, factory: MemoryStorageFactory) -> Backdoor:
        return UnorderedBackdoor(factory.blobs)


@pytest.mark.parametrize(("verb", "lines"), [("store", ["1 0", "1 1", "1 2"]), ("claim", ["1", "2", "3"])])
def test_what_the_other_process_says(verb: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    order = {
        "module": "seatunnel_storage_api.memory",
        "factory": "MemoryStorageFactory",
        "configuration": {"max-retained": "10"},
        "verb": verb,
        "job_id": "job",
        "rounds": 3,
    }
    writer.run(json.dumps(order))
    assert capsys.readouterr().out.splitlines() == lines


def test_the_states_of_two_ids_differ() -> None:
    assert len({hashlib.sha256(writer.states_of(number)).digest() for number in range(50)}) == 50


def test_the_backdoor_of_a_folder(tmp_path: Path) -> None:
    backdoor = FolderBackdoor(tmp_path)
    backdoor.write("a", b"1")
    (tmp_path / "b").mkdir()
    assert backdoor.paths() == ["a"]
    assert backdoor.only("a") == "a"
    backdoor.delete("a")
    assert backdoor.paths() == []
