"""Storage of the parts of unbounded sources' cursors, as attachments in the checkpoint storage."""

from seatunnel_core.connector_api.source import DiscoveredObject, PollCursor
from seatunnel_core.work.parts import attachment_of, part_of, with_parts, without_parts
from seatunnel_storage_api.storage import CheckpointStorage


class KeptParts:
    """Storage that writes and reads each part only once.

    The parts of a source's last cursor remain in memory. Only one thread at a time polls a source.
    """

    def __init__(self, storage: CheckpointStorage, job_id: str) -> None:
        self._storage = storage
        self._job_id = job_id
        self._held: dict[str, dict[bytes, str]] = {}
        """Digests of the durable parts, by source."""

    def whole(self, source: str, memory: PollCursor) -> DiscoveredObject:
        """Return a cursor from a checkpoint with its parts; raise an error if a part is missing or damaged."""
        by_digest = {digest: part for part, digest in self._held.get(source, {}).items()}
        named: dict[bytes, str] = {}

        def get(digest: str) -> bytes:
            part = by_digest.get(digest)
            if part is None:
                part = part_of(self._storage.get_attachment(self._job_id, digest))
            named[part] = digest
            return part

        found: DiscoveredObject = with_parts(memory, get)
        self._held[source] = named
        return found

    def stored(self, source: str, memory: PollCursor) -> DiscoveredObject:
        """Store the new parts of a cursor durably, and return the cursor with the names of its parts."""
        held = self._held.get(source, {})
        named: dict[bytes, str] = {}

        def store(part: bytes) -> str:
            if part not in named:
                digest = held.get(part)
                named[part] = digest or self._storage.store_attachment(self._job_id, attachment_of(part))
            return named[part]

        kept: DiscoveredObject = without_parts(memory, store)
        self._held[source] = named
        return kept
