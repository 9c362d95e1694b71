"""A replication slot, for which a database server retains its log."""

from attrs import frozen

__all__ = ["ReplicationSlot"]


@frozen(kw_only=True)
class ReplicationSlot:
    """A replication slot and its publication. Either may be missing on the server."""

    name: str
    exists: bool = True
    used_by: str | None = None
    """Session that uses the slot, or ``None``."""

    restart: str | None = None
    """Position from which the server retains its log for the slot, or ``None``."""

    retained_bytes: int | None = None
    """Size of the log that the server retains for the slot, in bytes."""

    wal_status: str | None = None
    """Availability of the retained log in the server's terms, such as ``reserved`` or ``lost``."""

    is_created: bool = False
    """True if the server has recorded that the engine created the slot."""

    job_id: str | None = None
    """ID of the last job that started with the slot; ``None`` if the server has not recorded it."""

    publication: str
    has_publication: bool = True
    is_publication_created: bool = False
    """True if the server has recorded that the engine created the publication."""
