"""The nodes of a job, and the options that every one of them has."""

from typing import Any

from attrs import field, frozen

from seatunnel_core.config.document import Position
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.option import BOOLEAN, ENUM, LIST, NESTED, STRING, Option, within

OUTPUT = Option(
    "plugin_output",
    STRING,
    aliases=("result_table_name",),
    doc="The name under which other nodes take this one's rows.",
)
INPUT = Option(
    "plugin_input",
    LIST(STRING),
    aliases=("source_table_name",),
    doc="Whose rows this node takes: one name or several. Without it, those of the node before.",
)
NAME = Option(
    "name", STRING, doc="The name of the node in messages and checkpoints; without it `plugin_output`, or one is made."
)
PARALLELISM = Option(
    "parallelism", within(1, 100_000), doc="How many work units of this source may run at once; unset: as in `env`."
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
    doc="What a row that cannot be read, transformed or written does: end the pipeline, or be counted and left out.",
)
BAD_ROWS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP", "NULL"),
    default="FAIL",
    doc="What a row does that this sink cannot write: end the pipeline, or be left out and counted; or, with NULL, get "
    "null in place of the value that cannot be written, and be left out where that is not enough. A warning names one.",
)
TABLE_MATCH = Option(
    "table_match_regex",
    STRING,
    default=".*",
    doc="A regular expression: tables whose whole name matches are changed, the others stay as they are.",
)
TABLE_TRANSFORM: Option[Any] = Option(
    "table_transform",
    LIST(NESTED),
    doc="Single tables: a list of { table_path = database.table, … } with this transform's options for that table, "
    "in place of those beside it.",
)
RULE_MATCH = Option(
    "rule_match_mode",
    ENUM("FIRST_MATCH", "ALL_MATCH"),
    doc="What several entries of table_transform for one table do: the first counts, or each changes what the one "
    "before it gave. Without it there is one entry for a table.",
)
REPLICA = Option(
    "multi_table_sink_replica",
    within(1, 100_000),
    no_effect="each task writes the rows of all tables that it reads, and as many write as there are tasks",
    doc="How many writers SeaTunnel has for each table.",
)
EXACTLY_ONCE = Option(
    "exactly_once",
    BOOLEAN,
    default=False,
    doc="Refuse the job unless every row reaches this sink exactly once, whatever fails.",
)

COMMON: dict[Kind, tuple[Option[Any], ...]] = {
    Kind.SOURCE: (OUTPUT, NAME, PARALLELISM, ROW_ERRORS),
    Kind.TRANSFORM: (INPUT, OUTPUT, NAME, FOLLOWS, ROW_ERRORS, TABLE_MATCH, TABLE_TRANSFORM, RULE_MATCH),
    Kind.SINK: (INPUT, NAME, FOLLOWS, BAD_ROWS, EXACTLY_ONCE, REPLICA),
}
"""Every plugin of a kind understands these; connectors do not declare them."""


@frozen(kw_only=True)
class Node:
    """One source, transform or sink of a job, as far as the graph is concerned."""

    kind: Kind
    identifier: str
    """The plugin's name."""

    given_name: str | None = None
    output: str | None = None
    inputs: tuple[str, ...] = ()
    """Names of outputs; empty: the node before."""

    position: Position = field(eq=False)
