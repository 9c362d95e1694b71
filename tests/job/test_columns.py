"""What a source's options say about its columns, as the manifest keeps it."""

from seatunnel_core.config.option import INTEGER, SCHEMA, STRING, Option, Options
from seatunnel_core.job.columns import column_options

DECLARED = (
    Option("schema", SCHEMA, default=None, doc=""),
    Option("file_format_type", STRING, default="csv", doc=""),
    Option("read_columns", STRING, default=None, doc=""),
    Option("split_size", INTEGER, default=1, doc=""),
)


def said(**values: object) -> dict[str, str]:
    return dict(column_options(Options(values, DECLARED)))


def test_only_options_that_are_set_and_decide_columns_are_reported() -> None:
    schema = {"fields": {"b": "int", "a": "string"}}
    assert said(schema=schema, file_format_type="json", split_size=7) == {
        "schema": '{"fields": {"b": "int", "a": "string"}}',
        "file_format_type": "json",
    }


def test_other_options_may_decide_the_columns_too() -> None:
    format = Option("format", STRING, default="DEFAULT", doc="", decides_columns=True)
    assert column_options(Options({"format": "MESSAGES"}, (format,))) == {"format": "MESSAGES"}
    assert column_options(Options({"format": "DEFAULT"}, (format,))) == {}


def test_a_default_is_not_reported_though_it_is_written() -> None:
    assert said(file_format_type="csv", read_columns=None) == {}
