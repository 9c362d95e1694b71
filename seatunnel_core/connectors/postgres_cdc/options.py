"""Options of the ``Postgres-CDC`` source, with SeaTunnel's names."""

from typing import Any

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, STRING, Option, Options
from seatunnel_core.connectors.change_data import options as shared

SCHEMA_NAMES: Option[tuple[str, ...]] = Option(
    "schema-names", LIST(), doc="Schemas from which tables are captured. By default all schemas."
)
SLOT = Option(
    "slot.name",
    STRING,
    default="seatunnel",
    doc=(
        "Replication slot of the job: lower-case letters, digits and _. It is created if it does not exist. Each job "
        "needs its own slot."
    ),
)
PUBLICATION = Option(
    "publication.name",
    STRING,
    doc=(
        "Publication of the captured tables; created if it does not exist. By default it has the slot's name. Its "
        "column lists and row filters also apply to the snapshot."
    ),
)
PLUGIN = Option(
    "decoding.plugin.name",
    STRING,
    default="pgoutput",
    doc="Output plugin of the slot. Only pgoutput, which is part of PostgreSQL, is supported.",
)
STARTUP = Option(
    "startup.mode",
    ENUM("initial", "snapshot-only", "latest", "earliest", "committed-offset"),
    default="initial",
    doc="initial reads the tables and then their changes; snapshot-only reads only the tables. latest reads changes "
    "from now on. earliest and committed-offset read from the start of the slot; committed-offset requires an "
    "existing slot.",
)
STOP = Option(
    "stop.mode",
    ENUM("never", "latest"),
    default="never",
    doc=(
        "latest ends the job at the log position reached when the tables had been read or, without a snapshot, when "
        "the job started."
    ),
)
REQUIRE_FULL = Option(
    "require-replica-identity-full",
    BOOLEAN,
    default=False,
    doc=(
        "True to reject tables without REPLICA IDENTITY FULL. It is needed only if a sink uses the old values of "
        "updated and deleted rows; without it, old values outside the key are null."
    ),
)

SOURCE_OPTIONS: tuple[Option[Any], ...] = (
    *shared.CONNECTION,
    shared.DATABASE_NAMES,
    SCHEMA_NAMES,
    *(each for each in shared.TABLES if each is not shared.DATABASE_NAMES),
    STARTUP,
    STOP,
    SLOT,
    PUBLICATION,
    PLUGIN,
    REQUIRE_FULL,
    *shared.CHUNKS,
    *shared.ROWS,
    *shared.WITHOUT_EFFECT,
)


def require_supported(options: Options) -> None:
    """Raise UsageError for unsupported or contradictory option values."""
    shared.require_supported(options)
    if options[PLUGIN] != "pgoutput":
        raise UsageError(f"option 'decoding.plugin.name': {options[PLUGIN]} is not supported; use pgoutput")
    name = options[SLOT]
    if not name or len(name) > 63 or set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789_"):
        raise UsageError(
            f"option 'slot.name': {name!r} is not a valid slot name; use up to 63 lower-case letters, digits and _"
        )
