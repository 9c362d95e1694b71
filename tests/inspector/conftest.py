"""A job whose first epoch ended with a crash, and which a second one went on with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointType
from tests.inspector.made import Made, local


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[BlobStorage]:
    with local(tmp_path / "state") as storage:
        yield storage


@pytest.fixture
def made(storage: BlobStorage, tmp_path: Path) -> Made:
    """Epoch 100000: 1 (the start), 2, and 4, which is orphaned: epoch 200000 took 2 for its base.
    Epoch 200000: 3 (the restore point), 5 and 6.

    Made in memory, and then written as files: what is tested is no disk's patience.
    """
    blobs: dict[str, bytes] = {}
    memory = Made(storage=MemoryStorage(blobs, namespace=storage.namespace, max_retained=10), target=tmp_path / "out")
    play(memory)
    for name, body in blobs.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    Path(storage.namespace, memory.job_id, "000001", ".tmp").mkdir()
    storage.max_retained = 10
    return Made(storage=storage, target=memory.target, attachments=memory.attachments)


def play(made: Made) -> None:
    made.begin()
    made.claim(100_000)
    made.store(100_000, 1, made.states(enumerated=False), kind=CheckpointType.RESTORE_POINT)
    made.store(100_000, 2, made.states(emitted=4, uncommitted=[(100_000, 1)], running=[2, 3]))
    made.store(100_000, 4, made.states(emitted=6, uncommitted=[(100_000, 2)]))
    made.begin(2)
    made.claim(200_000)
    base = (100_000, 2)
    restored = made.states(emitted=4, uncommitted=[(100_000, 1)], running=[2, 3])
    made.store(200_000, 3, restored, base=base, kind=CheckpointType.RESTORE_POINT)
    made.store(200_000, 5, made.states(emitted=5, running=[4]), base=base)
    latest = made.states(emitted=7, uncommitted=[(200_000, 4)], held=[(200_000, 6)], running=[5])
    made.store(200_000, 6, latest, base=base)
