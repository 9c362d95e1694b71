"""Nodes of a job and their common options."""

from typing import Any

from attrs import field, frozen

from seatunnel_core.config.document import Position
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.option import BOOLEAN, ENUM, LIST, NESTED, STRING, Option, within

OUTPUT = Option(
    "plugin_output",
    STRING,
    aliases=("result_table_name",),
    doc="Name of this node's output, to be used as `plugin_input` of other nodes.",
)
INPUT = Option(
    "plugin_input",
    LIST(STRING),
    aliases=("source_table_name",),
    doc="Input: one or more `plugin_output` names. By default the output of the previous node.",
)
NAME = Option(
    "name", STRING, doc="Name of the node in messages and checkpoints. By default `plugin_output` or a generated name."
)
PARALLELISM = Option(
    "parallelism",
    within(1, 100_000),
    doc="Maximum concurrent work units of this source. By default the value in `env`.",
)
FOLLOWS = Option(
    "parallelism",
    within(1, 100_000),
    doc="Accepted for compatibility.",
    no_effect="transforms and sinks follow their source",
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="Handling of rows that cannot be read, transformed or written: fail the pipeline, or skip and count them.",
)
BAD_ROWS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "NULL"),
    default="FAIL",
    doc=(
        "Handling of rows that this sink cannot write: fail the pipeline, skip and count them, or, with NULL, replace "
        "the unwritable value with null, and skip the row if it still cannot be written. A warning shows one such row."
    ),
)
TABLE_MATCH = Option(
    "table_match_regex",
    STRING,
    default=".*",
    doc="Regular expression for the whole table name: matching tables are transformed, others pass unchanged.",
)
TABLE_TRANSFORM: Option[Any] = Option(
    "table_transform",
    LIST(NESTED),
    doc=(
        "Options for single tables: a list of { table_path = database.table, … } with this transform's options for "
        "that table, which override the general options."
    ),
)
RULE_MATCH = Option(
    "rule_match_mode",
    ENUM("FIRST_MATCH", "ALL_MATCH"),
    doc="Handling of several entries of table_transform for one table: use the first, or apply all in order. By "
    "default each table may have one entry.",
)
REPLICA = Option(
    "multi_table_sink_replica",
    within(1, 100_000),
    no_effect="each task writes the rows of all tables that it reads, so there is one writer per task",
    doc="Number of writers for each table in SeaTunnel.",
)
EXACTLY_ONCE = Option(
    "exactly_once",
    BOOLEAN,
    default=False,
    doc="Reject the job unless this sink guarantees exactly-once delivery.",
)

COMMON: dict[Kind, tuple[Option[Any], ...]] = {
    Kind.SOURCE: (OUTPUT, NAME, PARALLELISM, ROW_ERRORS),
    Kind.TRANSFORM: (INPUT, OUTPUT, NAME, FOLLOWS, ROW_ERRORS, TABLE_MATCH, TABLE_TRANSFORM, RULE_MATCH),
    Kind.SINK: (INPUT, NAME, FOLLOWS, BAD_ROWS, EXACTLY_ONCE, REPLICA),
}
"""Options that all plugins of a kind have, so that connectors do not declare them."""


@frozen(kw_only=True)
class Node:
    """Source, transform or sink of a job."""

    kind: Kind
    identifier: str
    given_name: str | None = None
    output: str | None = None
    inputs: tuple[str, ...] = ()
    """Names of the outputs that the node reads. If empty, it reads the output of the previous node."""

    position: Position = field(eq=False)
