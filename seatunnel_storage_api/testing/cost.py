"""Promise 12: the number of backend requests of each operation."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import ClassVar

import pytest

from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, checkpoint, claim


class Cost(StorageFixtures):
    """Promise 12.

    ``requests`` counts calls of the primitives or, in a suite that overrides it, requests on the wire. A storage with
    primitives that send several requests must override it; otherwise only calls are counted.
    """

    cost_of_pruning: ClassVar[Mapping[str, int]] = {"delete": 1}
    """Additional requests of a store that removes checkpoints. A storage that only appends to a log writes instead of
    deleting.
    """

    cost_of_a_payload: ClassVar[Mapping[str, int]] = {"read": 1}
    """Requests to read a payload; empty if data written by this process is still in its memory."""

    def test_p12_a_store_is_one_put_and_one_listing(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        epoch = claim(storage)
        with self.requests(storage, monkeypatch) as counted:
            for number in range(3):
                storage.store_checkpoint(checkpoint(epoch, number))
            assert counted == {"put": 3, "list": 3}
            storage.store_checkpoint(checkpoint(epoch, 3))
            assert counted == Counter({"put": 4, "list": 4}) + Counter(self.cost_of_pruning)

    @pytest.mark.parametrize(
        ("verb", "cost", "payloads"),
        [
            (lambda storage: storage.scan(JOB, 1), {"list": 1}, 0),
            (lambda storage: storage.scan_job(JOB), {"list": 1}, 0),
            (lambda storage: storage.list_checkpoints(JOB, 1), {"list": 1}, 0),
            (lambda storage: storage.newest_epoch(JOB, 1), {"list": 1}, 0),
            (lambda storage: storage.get_latest_checkpoint(JOB, 1), {"list": 1}, 1),
            (lambda storage: storage.get_checkpoint(JOB, 1, 1), {"list": 1}, 1),
            (lambda storage: storage.list_jobs(), {"list": 1}, 0),
            (lambda storage: storage.put_manifest(JOB, 1, b""), {"put": 1}, 0),
            (lambda storage: storage.acquire_epoch(JOB, 1, 1), {"list": 2, "put": 1}, 0),
        ],
        ids=["scan", "scan_job", "list", "newest_epoch", "latest", "get", "list_jobs", "put_manifest", "acquire_epoch"],
    )
    def test_p12_what_each_verb_costs(
        self,
        storage: CheckpointStorage,
        monkeypatch: pytest.MonkeyPatch,
        verb: Callable[[CheckpointStorage], object],
        cost: dict[str, int],
        payloads: int,
    ) -> None:
        epoch = claim(storage)
        for number in (1, 2):
            storage.store_checkpoint(checkpoint(epoch, number))
        with self.requests(storage, monkeypatch) as counted:
            verb(storage)
        assert counted == Counter(cost) + self._cost_of(payloads)

    def test_p12_latest_among_many_reads_one_payload(
        self, open_storage: Callable[..., CheckpointStorage], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = open_storage(100)
        for pipeline in (1, 2, 11):
            epoch = claim(storage, pipeline_id=pipeline)
            for number in range(8):
                storage.store_checkpoint(checkpoint(epoch, number, pipeline_id=pipeline))
        with self.requests(storage, monkeypatch) as counted:
            latest = storage.get_latest_checkpoint(JOB, 1)
        assert counted == Counter({"list": 1}) + self._cost_of(1)
        assert latest is not None
        assert latest.checkpoint_id == 7
        with self.requests(storage, monkeypatch) as counted:
            assert len(storage.get_latest_checkpoints(JOB)) == 3
        assert counted["read"] == self._cost_of(3)["read"]

    def _cost_of(self, payloads: int) -> Counter[str]:
        return Counter({kind: payloads * each for kind, each in self.cost_of_a_payload.items()})
