"""What the storage of type ``map-store`` asks of the storage that its maps lie on."""

import collections
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
from seatunnel_storage_mapstore.storage import MapStorage

from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing import CheckpointStorageConformance

_PRIMITIVES = {"put_if_absent": "put", "read": "read", "list_blobs": "list", "delete": "delete"}


@contextlib.contextmanager
def requests_beneath(storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch) -> Iterator[collections.Counter[str]]:
    """Counts the primitives of the storage beneath: those of a ``MapStorage`` are changes of maps, and no requests."""
    assert isinstance(storage, MapStorage)
    beneath = storage._beneath
    counted: collections.Counter[str] = collections.Counter()

    def counting(kind: str, primitive: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if arguments[0] or kind == "list":  # to delete nothing is no request
                counted[kind] += 1
            return primitive(*arguments)

        return call

    with monkeypatch.context() as patches:
        for name, kind in _PRIMITIVES.items():
            patches.setattr(beneath, name, counting(kind, getattr(beneath, name)))
        yield counted


class CountedBeneath(CheckpointStorageConformance):
    """The suite, with promise 12 counted where requests are made."""

    cost_of_pruning: ClassVar[Mapping[str, int]] = {"put": 1, "list": 1}
    cost_of_a_payload: ClassVar[Mapping[str, int]] = {}

    @contextlib.contextmanager
    def requests(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[collections.Counter[str]]:
        with requests_beneath(storage, monkeypatch) as counted:
            yield counted
