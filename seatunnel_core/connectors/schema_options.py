"""The options of sources that infer their columns: what is looked at, and what becomes of rows that do not fit."""

from typing import Any

from seatunnel_core.config import json_shape
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
    doc="Of json without schema: how many rows are looked at for columns and types. Of files the first ones of each, "
    "and all rows without it; of other sources the first ones, and without it there is one column, content.",
)
SCHEMA_CONTRACT = Option(
    "schema_contract",
    CONTRACT,
    default=SchemaContract(),
    doc="Of json without schema: what becomes of rows behind schema_sample with a field that is no column (columns), a "
    "list that is no child table (tables), or a value that is of another type (data_type). evolve and freeze: an "
    "error; discard_row: the row is left out; discard_value: the field is. What is left out is counted and reported. "
    "One word says it for everything.",
)
NESTING = Option(
    "nesting",
    ENUM(KEEP, COLUMNS, TABLES),
    default=KEEP,
    doc="What becomes of objects and lists in rows of json: keep leaves them as rows and arrays; columns makes a "
    "column a__b of each field of an object; tables does so too, and makes a child table of each list.",
)
MAX_NESTING = Option(
    "max_nesting",
    within(0, DEEPEST),
    default=DEEPEST,
    doc="How many levels of objects and lists in a row are looked into to infer columns; what is deeper is a text, of "
    "JSON.",
)
COLUMN_NAMES = Option(
    "column_names",
    ENUM("written", "safe"),
    default="written",
    doc="How columns of json are named: as they are written, or in small letters, digits and _ alone.",
)
INFERENCE: tuple[Option[Any], ...] = (SCHEMA_SAMPLE, SCHEMA_CONTRACT, NESTING, MAX_NESTING, COLUMN_NAMES)
"""All of them, in the order of pages."""


def nesting_of(options: Options) -> Nesting:
    """Return what a source makes of objects, lists and names."""
    return Nesting(kind=options[NESTING], safe_names=options[COLUMN_NAMES] == "safe")
