"""Record of the publications and slots that the engine has created: the comment of the publication.

A slot has no comment, so that of the publication lists the slots.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from seatunnel_core.connectors.postgres_log.errors import LogServerError
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name, quoted_text, run

_HEAD = "Created by SeaTunnel with the replication slots: "
_COMMENT = "SELECT pg_catalog.obj_description(oid, 'pg_publication') FROM pg_catalog.pg_publication WHERE pubname = %s"


def created_slots(connection: Any, publication: str) -> tuple[str, ...] | None:
    """Return the slots that the engine created for a publication; ``None`` if it did not create the publication.

    Args:
        connection: A psycopg connection in autocommit mode.
        publication: Name of the publication, which need not exist.
    """
    for (comment,) in run(connection, _COMMENT, (publication,)):
        if comment is not None and comment.startswith(_HEAD):
            return tuple(filter(None, comment.removeprefix(_HEAD).split(", ")))
    return None


def record_slots(connection: Any, publication: str, slots: Sequence[str]) -> None:
    """Record that the engine created a publication, and these slots for it.

    Raises:
        LogServerError: The server rejects it.
    """
    run(connection, f"COMMENT ON PUBLICATION {quoted_name(publication)} IS {quoted_text(_HEAD + ', '.join(slots))}")


def record_slot(connection: Any, publication: str, slot: str) -> None:
    """Record that the engine creates a slot, unless another program created the publication."""
    slots = created_slots(connection, publication)
    if slots is not None and slot not in slots:
        with suppress(LogServerError):  # another role owns the publication: the job needs no record
            record_slots(connection, publication, [*slots, slot])
