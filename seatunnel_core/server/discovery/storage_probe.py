"""Check that two members share a storage: one writes random bytes, and the other reads them."""

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
"""Time within which a write must become visible to others, in seconds. Network file systems cache missing files."""

_PAUSE_S = 0.25


@contextmanager
def storage_probes(config: NodeConfig) -> "Iterator[dict[str, StorageProbe]]":
    """Open the storages ``checkpoints`` and ``state`` of a node that can lead, and close them on exit."""
    with ExitStack() as storages:
        configured = config.engine.storage
        checkpoints = storages.enter_context(open_storage(configured.type, configured.effective))
        setting = f"checkpoint.storage of {config.engine_file or 'seatunnel.yaml, which does not exist,'}"
        found = {"checkpoints": StorageProbe(checkpoints, setting=setting)}
        state = open_map_storage(config.hazelcast_file, config.cluster, config.metadata_url)
        if state is not None:
            storages.enter_context(state)
            found["state"] = StorageProbe(state, setting=f"the map: block of {config.hazelcast_file}, or metadata-url,")
        yield found


class StorageProbe:
    """Probe of an open storage that is configured by ``setting``. Thread-safe."""

    def __init__(self, storage: CheckpointStorage, *, setting: str) -> None:
        self._storage = storage
        self.setting = setting

    @property
    def where(self) -> str:
        """Location of the storage, for messages."""
        storage = self._storage
        return storage.locate("") if isinstance(storage, BlobStorage) else type(storage).__name__

    def leave(self, asker: str, answerer: str) -> str:
        """Write a probe object with random bytes for a check between two members, and return its digest."""
        return self._storage.store_attachment(_job(asker, answerer), secrets.token_bytes(32))

    def sees(self, asker: str, answerer: str, digest: str, *, sleep: Callable[[float], None] = time.sleep) -> bool:
        """Return True if the probe object of the other member is found within ``PATIENCE_S``."""
        for _ in range(int(PATIENCE_S / _PAUSE_S)):
            try:
                self._storage.get_attachment(_job(asker, answerer), digest)
            except AttachmentNotFoundError:
                sleep(_PAUSE_S)
            else:
                return True
        return False

    def remove(self, asker: str, answerer: str) -> None:
        """Remove the probe objects of both members, also those of earlier runs. Called by the requesting member."""
        self._storage.delete_job(_job(asker, answerer))


def _job(asker: str, answerer: str) -> str:
    """Return the job ID under which a check stores its probe objects. It differs for the two directions of a check."""
    return PROBE_PREFIX + hashlib.sha256(f"{asker} {answerer}".encode()).hexdigest()[:32]
