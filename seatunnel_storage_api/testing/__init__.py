"""The pytest suite for checkpoint storages, which every storage must pass. Needs pytest and hypothesis.

Subclass the suite, define how to create a storage and how to access its bytes directly, and run pytest::

    from seatunnel_storage_api.testing import CheckpointStorageConformance, FolderBackdoor

    class TestMyStorage(CheckpointStorageConformance):
        @pytest.fixture
        def factory(self):
            return MyFactory()

        @pytest.fixture
        def configuration(self, tmp_path):
            return {"namespace": f"{tmp_path}/"}

        @pytest.fixture
        def backdoor(self, tmp_path):
            return FolderBackdoor(tmp_path)

A test's name starts with the number of its promise (``seatunnel_storage_api.storage``); after a run, the plugin
``seatunnel_storage_api.testing.report`` reports which promises were broken by which tests. The parts:

=============== =================================================================================
``durability``  1 and 13: atomic writes, from empty to large
``crash``       1 under ``kill -9``
``sealing``     2 and 4: damage, done through the ``backdoor``
``ordering``    3 and 7: the latest checkpoint, the identity of a key
``retention``   5
``isolation``   6 and 9: names, namespaces
``fencing``     8
``concurrency`` 10: threads and processes
``mistakes``    11: required and forbidden content of messages
``cost``        12: requests, counted
``model``       3, 5, 7 and 8 in random histories, compared with an oracle; ``SEATUNNEL_SEED`` repeats one
=============== =================================================================================
"""

import pytest

_PARTS = (
    "concurrency",
    "cost",
    "crash",
    "durability",
    "fencing",
    "given",
    "isolation",
    "mistakes",
    "model",
    "ordering",
    "retention",
    "sealing",
    "suite",
)
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))

from seatunnel_storage_api.testing.backdoor import Backdoor, DictionaryBackdoor, FolderBackdoor  # noqa: E402
from seatunnel_storage_api.testing.suite import CheckpointStorageConformance  # noqa: E402

__all__ = ["Backdoor", "CheckpointStorageConformance", "DictionaryBackdoor", "FolderBackdoor"]
