"""Options of message formats, with SeaTunnel's names."""

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, NESTED, STRING, Option

DELIMITER = Option("field_delimiter", STRING, default=",", doc="Delimiter between the fields of text messages.")
NULL_FORMAT = Option(
    "null_format",
    STRING,
    doc="String that means null in text messages, such as \\N. If unset, null is written as the empty string.",
)
EMPTY_VALUE = Option(
    "empty_value",
    ENUM("NULL", "TEXT"),
    default="NULL",
    doc="Meaning of an empty field in a string column of text messages: null, as in SeaTunnel, or the empty string.",
)
INCLUDES_SCHEMA = Option(
    "debezium_record_include_schema",
    BOOLEAN,
    default=True,
    doc="True if Debezium messages have the form { schema, payload }. Messages without this form are also accepted.",
)
TABLE_FILTER = Option(
    "debezium_record_table_filter",
    NESTED,
    doc="Table to read from Debezium messages: database_name, schema_name, table_name. Other tables are skipped.",
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="Handling of a message that cannot be read: fail the pipeline, or count and skip it.",
)


def require_delimiter(delimiter: str, separator: str = "") -> None:
    """Raise ``UsageError`` unless a delimiter is a string that does not contain the row separator."""
    if not delimiter or (separator and separator in delimiter):
        raise UsageError(f"option {DELIMITER.key!r}: expected a string without line breaks, found {delimiter!r}")
