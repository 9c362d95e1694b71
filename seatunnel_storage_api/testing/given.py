"""What every part of the suite starts from: a storage, its factory, its configuration, a backdoor."""

import collections
import contextlib
import itertools
import os
import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing.backdoor import Backdoor

JOB = "job"
Answer = TypeVar("Answer")


class Given(ABC):
    """The three fixtures that an author supplies, and what is made of them."""

    backend: str = ""
    """What is tested, as the table of promises calls it: ``"S3 (MinIO)"``. Without one it is the name of the class."""

    backend_version: str = ""
    """Of server and client. A fixture of class scope that asks the server may set it on the class."""

    secrets: tuple[str, ...] = ()
    """Values of the configuration that nobody may ever see."""

    large_state_bytes: int = 32 * 2**20
    """For the test of large states; promised is up to 1 GiB."""

    model_examples: int = 20
    """How many random histories the model test plays."""

    crashes: int = 3
    """How often the crash test kills a writer."""

    @abstractmethod
    def factory(self) -> CheckpointStorageFactory:
        """Fixture: the factory under test. Other processes make one by calling its class without arguments."""

    @abstractmethod
    def configuration(self) -> dict[str, str]:
        """Fixture: a configuration whose ``namespace`` is empty, and which holds no ``max-retained``."""

    @abstractmethod
    def backdoor(self) -> Backdoor:
        """Fixture: raw access to that namespace."""

    @pytest.fixture
    def open_storage(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str]
    ) -> Iterator[Callable[..., CheckpointStorage]]:
        """Makes storages of the same namespace, or of one below it; closes them at the end."""
        with contextlib.ExitStack() as storages:

            def make(max_retained: int = 3, below: str = "") -> CheckpointStorage:
                more = {"namespace": configuration["namespace"] + below, "max-retained": str(max_retained)}
                return storages.enter_context(factory.create({**configuration, **more}))

            yield make

    @pytest.fixture
    def storage(self, open_storage: Callable[..., CheckpointStorage]) -> CheckpointStorage:
        """A storage that keeps three checkpoints of each pipeline."""
        return open_storage()

    @pytest.fixture
    def seed(self) -> int:
        """Where chance starts. ``SEATUNNEL_SEED`` sets it; a test that fails shows what it was."""
        number = int(os.environ.get("SEATUNNEL_SEED") or random.randrange(2**32))
        sys.stdout.write(f"to play this again: SEATUNNEL_SEED={number}\n")
        return number

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        """Counts what a storage asks of its backend, as ``put``, ``read``, ``list``, ``delete``.

        Counts the primitives of a ``BlobStorage``; overridden for a storage that is none, or counts finer.
        """
        counted: collections.Counter[str] = collections.Counter()
        with monkeypatch.context() as patches:
            for kind, name in _PRIMITIVES.items():
                patches.setattr(storage, name, _counting(counted, kind, getattr(storage, name)))
            yield counted

    @contextlib.contextmanager
    def failing(
        self,
        storage: CheckpointStorage,
        monkeypatch: pytest.MonkeyPatch,
        kind: str,
        error: Exception,
        times: int = sys.maxsize,
    ) -> Iterator[None]:
        """Lets the backend answer the next ``times`` requests of a kind (as ``requests`` counts them) with an error.

        Replaces a primitive of a ``BlobStorage``; overridden for a storage that is none.
        """
        with monkeypatch.context() as patches:
            name = _PRIMITIVES[kind]
            patches.setattr(storage, name, _failing(error, times, getattr(storage, name)))
            yield


_PRIMITIVES = {"put": "put_pieces_if_absent", "read": "read", "list": "list_blobs", "delete": "delete"}


def _failing(error: Exception, times: int, primitive: Callable[..., Any]) -> Callable[..., Any]:
    left = itertools.count(times, -1)

    def call(*arguments: Any) -> Any:
        if next(left) > 0:
            raise error
        return primitive(*arguments)

    return call


def _counting(counted: collections.Counter[str], name: str, primitive: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        counted[name] += 1
        return primitive(*arguments)

    return call


def checkpoint(
    epoch: int,
    checkpoint_id: int,
    states: bytes = b"states",
    *,
    job_id: str = JOB,
    pipeline_id: int = 1,
    checkpoint_type: CheckpointType = CheckpointType.CHECKPOINT,
    base: CheckpointRef | None = None,
) -> PipelineState:
    """A checkpoint of the first pipeline of ``JOB``, unless said otherwise."""
    return PipelineState(
        job_id=job_id,
        pipeline_id=pipeline_id,
        epoch=epoch,
        checkpoint_id=checkpoint_id,
        checkpoint_type=checkpoint_type,
        states=states,
        base=base,
    )


def claim(storage: CheckpointStorage, *, job_id: str = JOB, pipeline_id: int = 1) -> int:
    """The next epoch of the first pipeline of ``JOB``, unless said otherwise."""
    return storage.acquire_epoch(job_id, pipeline_id, 1)


def refs(storage: CheckpointStorage, *, job_id: str = JOB, pipeline_id: int = 1) -> list[tuple[int, int]]:
    """The (epoch, id) of every checkpoint that is listed, in the order of the listing."""
    return [(info.epoch, info.checkpoint_id) for info in storage.list_checkpoints(job_id, pipeline_id)]


def at_once(*calls: Callable[[], Answer]) -> list[Answer | Exception]:
    """Runs all calls at the same time, a thread each; what each returned or raised, in order."""
    with ThreadPoolExecutor(len(calls)) as threads:
        futures = [threads.submit(call) for call in calls]
    outcomes: list[Answer | Exception] = []
    for future in futures:
        error = future.exception()
        outcomes.append(error if isinstance(error, Exception) else future.result())
    return outcomes
