"""Fixtures of all parts of the suite: a storage, its factory, its configuration and a backdoor."""

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


class StorageFixtures(ABC):
    """Three fixtures that the author of a storage supplies, and fixtures derived from them."""

    backend: str = ""
    """Name of the tested storage in the table of promises, such as ``"S3 (MinIO)"``; by default, the class's name."""

    backend_version: str = ""
    """Versions of server and client. A class-scoped fixture that queries the server may set this on the class."""

    secrets: tuple[str, ...] = ()
    """Secret values in the configuration, which no output may contain."""

    large_state_bytes: int = 32 * 2**20
    """Size of the large state in its test, in bytes. The promise covers up to 1 GiB."""

    model_examples: int = 20
    """Number of random histories in the model test."""

    crashes: int = 3
    """Number of writers that the crash test kills."""

    @abstractmethod
    def factory(self) -> CheckpointStorageFactory:
        """Return the factory under test (a fixture). Other processes call its class without arguments."""

    @abstractmethod
    def configuration(self) -> dict[str, str]:
        """Return a configuration with an empty folder as ``namespace``, without ``max-retained`` (a fixture)."""

    @abstractmethod
    def backdoor(self) -> Backdoor:
        """Return raw access to the namespace of ``configuration`` (a fixture)."""

    @pytest.fixture
    def open_storage(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str]
    ) -> Iterator[Callable[..., CheckpointStorage]]:
        """Yield a function that opens storages in the namespace, or in one below it; close them after the test."""
        with contextlib.ExitStack() as storages:

            def make(max_retained: int = 3, below: str = "") -> CheckpointStorage:
                more = {"namespace": configuration["namespace"] + below, "max-retained": str(max_retained)}
                return storages.enter_context(factory.create({**configuration, **more}))

            yield make

    @pytest.fixture
    def storage(self, open_storage: Callable[..., CheckpointStorage]) -> CheckpointStorage:
        """Return a storage that keeps three checkpoints of each pipeline."""
        return open_storage()

    @pytest.fixture
    def seed(self) -> int:
        """Return the random seed: ``SEATUNNEL_SEED``, or a new one, which a failing test prints."""
        number = int(os.environ.get("SEATUNNEL_SEED") or random.randrange(2**32))
        sys.stdout.write(f"to reproduce this: SEATUNNEL_SEED={number}\n")
        return number

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        """Count a storage's requests to its backend while the context is open, by kind: put, read, list and delete.

        The default counts calls of the primitives of a ``BlobStorage``. Override it for any other storage, or to
        count requests on the wire.
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
        """Make the next ``times`` requests of one kind fail with an error while the context is open.

        The default replaces a primitive of a ``BlobStorage``. Override it for any other storage.

        Args:
            storage: The storage with failing requests.
            monkeypatch: Pytest's fixture.
            kind: ``put``, ``read``, ``list`` or ``delete``, as in ``requests``.
            error: The error that each failing request raises.
            times: Number of failing requests; all of them by default.
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
    """Return a checkpoint, by default a regular one of pipeline 1 of ``JOB``."""
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
    """Claim and return the next epoch of a pipeline, by default pipeline 1 of ``JOB``."""
    return storage.acquire_epoch(job_id, pipeline_id, 1)


def refs(storage: CheckpointStorage, *, job_id: str = JOB, pipeline_id: int = 1) -> list[tuple[int, int]]:
    """Return the (epoch, id) of every listed checkpoint, in the order of the listing."""
    return [(info.epoch, info.checkpoint_id) for info in storage.list_checkpoints(job_id, pipeline_id)]


def at_once(*calls: Callable[[], Answer]) -> list[Answer | Exception]:
    """Run each call concurrently in its own thread; return the results or exceptions in order."""
    with ThreadPoolExecutor(len(calls)) as threads:
        futures = [threads.submit(call) for call in calls]
    outcomes: list[Answer | Exception] = []
    for future in futures:
        error = future.exception()
        outcomes.append(error if isinstance(error, Exception) else future.result())
    return outcomes
