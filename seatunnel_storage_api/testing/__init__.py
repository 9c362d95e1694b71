"""The pytest kit that every checkpoint storage passes. Needs pytest and hypothesis.

Subclass the suite, say how to make a storage and how to reach its bytes from outside, and run pytest::

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

A test's name begins with the number of the promise (``seatunnel_storage_api.storage``) that it is about; the plugin
``seatunnel_storage_api.testing.report`` says after a run which promise was broken by what. The parts:

=============== =================================================================================
``durability``  1 and 13: whole or not at all, from nothing to large
``crash``       1 under ``kill -9``
``sealing``     2 and 4: damage, done through the ``backdoor``
``ordering``    3 and 7: what is latest, what a key means
``retention``   5
``isolation``   6 and 9: names, namespaces
``fencing``     8
``concurrency`` 10: threads and processes
``mistakes``    11: what a message must contain, and what none may
``cost``        12: requests, counted
``model``       3, 5, 7 and 8 in random histories, compared with an oracle; ``SEATUNNEL_SEED`` plays one again
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
