"""Options for the inference of columns: sample size, and handling of rows that do not match."""

from typing import Any

from seatunnel_core.config import json_shape
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import ENUM, Option, Options, OptionType, within
from seatunnel_core.rows.inference.contract import SchemaContract
from seatunnel_core.rows.inference.shape import DEEPEST
from seatunnel_core.rows.nesting import COLUMNS, KEEP, TABLES, Nesting

CONTRACT: OptionType[SchemaContract] = OptionType(
    name="word or block",
    parse=SchemaContract.of,
    nested=True,
    keys=dict.fromkeys(("tables", "columns", "data_type")),
    shape={"anyOf": [json_shape.BLOCK, json_shape.TEXT]},
)

SCHEMA_SAMPLE = Option(
    "schema_sample",
    within(1, 10**9),
    unit="rows",
    doc=(
        "For json without schema: number of rows from which columns and types are inferred. For files, the first rows "
        "of each file; by default all rows. For other sources, the first rows; by default there is one column, content."
    ),
)
SCHEMA_CONTRACT = Option(
    "schema_contract",
    CONTRACT,
    default=SchemaContract(),
    doc="For json without schema: handling of later rows with a field that is not a column (columns), a list "
    "that is not a child table (tables), or a value of a different type (data_type). With evolve and freeze, such a "
    "row is an error; discard_row skips the row; discard_value drops the field. Skipped rows and dropped fields are "
    "counted and reported. A single word applies to all three.",
)
NESTING = Option(
    "nesting",
    ENUM(KEEP, COLUMNS, TABLES),
    default=KEEP,
    doc=(
        "Handling of objects and lists in json rows: keep reads them as rows and arrays; columns reads each field of "
        "an object as a column a__b; tables also reads each list as a child table."
    ),
)
MAX_NESTING = Option(
    "max_nesting",
    within(0, DEEPEST),
    default=DEEPEST,
    doc="Maximum depth of objects and lists to infer columns from; deeper values become JSON strings.",
)
COLUMN_NAMES = Option(
    "column_names",
    ENUM("written", "safe"),
    default="written",
    doc="Naming of json columns: unchanged, or converted to lower-case letters, digits and _.",
)
INFERENCE: tuple[Option[Any], ...] = (SCHEMA_SAMPLE, SCHEMA_CONTRACT, NESTING, MAX_NESTING, COLUMN_NAMES)
"""All inference options, in the order of the reference pages."""


def nesting_of(options: Options) -> Nesting:
    """Return the configured handling of objects, lists and names."""
    return Nesting(kind=options[NESTING], safe_names=options[COLUMN_NAMES] == "safe")


def check_sampling(
    options: Options, *, declared: bool, format: str | None, alone: tuple[Option[Any], ...] = ()
) -> None:
    """Check the options of a source that infers columns only if ``schema_sample`` is set.

    Raise UsageError if options contradict each other. Options in ``alone`` also apply to declared columns.
    """
    if options[SCHEMA_SAMPLE] is None:
        for option in INFERENCE:
            if options.is_set(option) and option not in alone:
                raise UsageError(f"option {option.key!r} applies only to inferred columns; also set schema_sample")
    elif declared:
        raise UsageError("option 'schema_sample': schema already declares the columns; remove one of the two")
    elif format not in (None, "json"):
        raise UsageError(f"option 'schema_sample': columns are inferred only for format = json, found {format}")
