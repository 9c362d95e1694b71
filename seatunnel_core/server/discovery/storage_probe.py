"""Whether two members read the same storage: one writes an object of random bytes there, and the other reads it."""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from seatunnel_core.inspector.garbage import PROBE_PREFIX
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.state.location import open_map_storage
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import AttachmentNotFoundError
from seatunnel_storage_api.storage import CheckpointStorage

PATIENCE_S = 3.0
"""So long after a write others may not see it yet, as on a network file system that remembers what was not there."""

_PAUSE_S = 0.25


@contextmanager
def storage_probes(config: NodeConfig) -> "Iterator[dict[str, StorageProbe]]":
    """Open the storages of a node that may lead, for as long as the context lasts: ``checkpoints`` and ``state``.

    Raises:
        UsageError, CheckpointStorageError: one of them cannot be opened.
    """
    with ExitStack() as storages:
        configured = config.engine.storage
        checkpoints = storages.enter_context(open_storage(configured.type, configured.effective))
        setting = f"checkpoint.storage of {config.engine_file or 'seatunnel.yaml, which is not there,'}"
        found = {"checkpoints": StorageProbe(checkpoints, setting=setting)}
        state = open_map_storage(config.hazelcast_file, config.cluster, config.metadata_url)
        if state is not None:
            storages.enter_context(state)
            found["state"] = StorageProbe(state, setting=f"the map: block of {config.hazelcast_file}, or metadata-url,")
        yield found


class StorageProbe:
    """One storage of a node, as it looks from there. May be called from any thread.

    Args:
        storage: kept open, and not closed here.
        setting: where a user says which storage it is, for messages.
    """

    def __init__(self, storage: CheckpointStorage, *, setting: str) -> None:
        self._storage = storage
        self.setting = setting

    @property
    def where(self) -> str:
        """The place of the storage, as a user would look for it."""
        storage = self._storage
        return storage.locate("") if isinstance(storage, BlobStorage) else type(storage).__name__

    def leave(self, asker: str, answerer: str) -> str:
        """Store random bytes, for a question that one member asks another, and return their digest.

        Raises:
            CheckpointStorageError: the storage refuses, or does not answer.
        """
        return self._storage.store_attachment(_job(asker, answerer), secrets.token_bytes(32))

    def sees(self, asker: str, answerer: str, digest: str, *, sleep: Callable[[float], None] = time.sleep) -> bool:
        """Return whether the bytes that the other one left are here; look again for a while before saying no.

        Raises:
            CheckpointStorageError: the storage refuses, or does not answer.
        """
        for _ in range(int(PATIENCE_S / _PAUSE_S)):
            try:
                self._storage.get_attachment(_job(asker, answerer), digest)
            except AttachmentNotFoundError:
                sleep(_PAUSE_S)
            else:
                return True
        return False

    def remove(self, asker: str, answerer: str) -> None:
        """Remove what both left, also in an earlier life. Only the asker knows when that is over.

        What a node left that died and never asks again is removed by ``seatunnel checkpoints gc`` when it is a day old.

        Raises:
            CheckpointStorageError: the storage refuses, or does not answer.
        """
        self._storage.delete_job(_job(asker, answerer))


def _job(asker: str, answerer: str) -> str:
    """Return under which job the bytes of a question stand: so, what a dead node leaves does not add up.

    The same two may ask each other at the same time, which are two questions.
    """
    return PROBE_PREFIX + hashlib.sha256(f"{asker} {answerer}".encode()).hexdigest()[:32]
