"""Record of the publications and slots that the engine created, stored in the comments of the publications.

Slots have no comments. The comment of a publication lists its slots, each with the last job that started to use it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from seatunnel_core.connectors.postgres_log.errors import LogServerError
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name, quoted_text, run

_HEAD = "Created by SeaTunnel with the replication slots: "
_SLOT = re.compile(r"(\w+)(?: \(job (.*)\))?")
_COMMENT = "SELECT pg_catalog.obj_description(oid, 'pg_publication') FROM pg_catalog.pg_publication WHERE pubname = %s"


@contextmanager
def recording(connection: Any, publication: str) -> Iterator[None]:
    """Hold a lock that prevents other processes from changing the record or the publication.

    The publication need not exist.
    """
    digest = hashlib.sha256(f"seatunnel publication {publication}".encode()).digest()
    key = int.from_bytes(digest[:8], "big") >> 1
    run(connection, "SELECT pg_catalog.pg_advisory_lock(%s)", (key,))
    try:
        yield
    finally:
        with suppress(LogServerError):  # the server releases the lock of a lost connection
            run(connection, "SELECT pg_catalog.pg_advisory_unlock(%s)", (key,))


def created_slots(connection: Any, publication: str) -> dict[str, str] | None:
    """Return the slots that the engine created for a publication; ``None`` if it did not create the publication.

    Each value is the ID of the last job that started to use the slot; empty if an earlier version did not record it.

    Args:
        connection: A psycopg connection in autocommit mode.
        publication: Name of the publication, which need not exist.
    """
    for (comment,) in run(connection, _COMMENT, (publication,)):
        if comment is not None and comment.startswith(_HEAD):
            found = map(_SLOT.fullmatch, comment.removeprefix(_HEAD).split(", "))
            return {each[1]: each[2] or "" for each in found if each is not None}
    return None


def record_slots(connection: Any, publication: str, slots: Mapping[str, str]) -> None:
    """Record that the engine created a publication and these slots for it, each with the ID of its job.

    Raises:
        LogServerError: The server rejects the statement.
    """
    listed = ", ".join(f"{slot} (job {job_id})" if job_id else slot for slot, job_id in slots.items())
    run(connection, f"COMMENT ON PUBLICATION {quoted_name(publication)} IS {quoted_text(_HEAD + listed)}")


def record_slot(connection: Any, publication: str, slot: str, job_id: str, *, creates: bool) -> None:
    """Record the job that starts to use a slot, unless another program created the publication or the slot.

    The caller must hold ``recording``. ``creates`` is True if the engine is creating the slot.
    """
    slots = created_slots(connection, publication)
    if slots is not None and (creates or slot in slots) and slots.get(slot) != job_id:
        with suppress(LogServerError):  # another role owns the publication: the job needs no record
            record_slots(connection, publication, {**slots, slot: job_id})
