"""The options of the source ``LocalFile``, with SeaTunnel's names where it has them."""

import datetime as dt
from typing import Any

from seatunnel_core.config import json_shape
from seatunnel_core.connector_api.increments import INCREMENTAL
from seatunnel_core.connector_api.option import (
    BOOLEAN,
    DURATION_MS,
    ENUM,
    LIST,
    LONG,
    SCHEMA,
    SIZE,
    STRING,
    Option,
    OptionType,
)
from seatunnel_core.connector_api.several_tables import TABLES, tables_option
from seatunnel_core.connectors.file.formats.names import READ
from seatunnel_core.connectors.schema_options import INFERENCE

LEAST_INTERVAL_MS = 100


def _scan_interval(value: Any) -> int:
    """Parse a duration as ``DURATION_MS``; SeaTunnel writes ``10S``, and also ``PT10S``."""
    is_iso = isinstance(value, str) and value.strip().upper().startswith("PT")
    interval_ms = DURATION_MS.parse(value.strip()[2:] if is_iso else value)
    if interval_ms < LEAST_INTERVAL_MS:
        raise ValueError(f"expected at least {LEAST_INTERVAL_MS} ms, found {interval_ms}")
    return interval_ms


SCAN_DURATION: OptionType[int] = OptionType(name="duration", parse=_scan_interval)


def _moment_ns(value: Any) -> int:
    """Parse a moment of the machine's local time into nanoseconds since 1970."""
    text = STRING.parse(value).strip()
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return int(dt.datetime.strptime(text, form).timestamp()) * 1_000_000_000
        except ValueError:
            continue
    raise ValueError(f'expected a moment such as "2024-01-31 12:00:00", found {text!r}')


MOMENT: OptionType[int] = OptionType(name="moment", parse=_moment_ns, textual=True, shape=json_shape.TEXT)

PATH = Option(
    "path",
    STRING,
    required=True,
    unless=(TABLES,),
    doc="A file, a folder, or a pattern with *, ?, [...], {a,b} and, for any number of folders, **.",
)
FORMAT = Option(
    "file_format_type",
    ENUM(*READ),
    required=True,
    unless=(TABLES,),
    aliases=("file_format", "format"),
    doc="What the files hold; json means one object per line.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc="The columns and their types; without it they are found out from all rows of json, and from the beginning of "
    "each file of other formats.",
)
READ_COLUMNS = Option("read_columns", LIST(STRING), doc="The columns to read; all of them when it is not set.")
FIELD_DELIMITER = Option(
    "field_delimiter",
    STRING,
    aliases=("delimiter",),
    doc="What stands between values: a comma for csv and U+0001 for text when it is not set. Of text it is a regular "
    "expression. It may be several characters where there are no quotes: in text, and in csv with an empty quote_char.",
)
ROW_DELIMITER = Option(
    "row_delimiter",
    ENUM("\\n", "\n", "\\r\\n", "\r\n"),
    default="\n",
    doc="The line end. All usual ones are recognised.",
)
SKIP_HEADER = Option(
    "skip_header_row_number",
    LONG,
    default=0,
    doc="How many lines, or rows of a sheet, to skip at the start of each file.",
)
SHEET_NAME = Option("sheet_name", STRING, doc="The sheet of an excel file to read; the first one when it is not set.")
EXCEL_ENGINE = Option(
    "excel_engine",
    ENUM("POI", "EasyExcel"),
    default="POI",
    no_effect="sheets are read row by row, by openpyxl and xlrd",
    doc="What SeaTunnel reads excel files with.",
)
XML_ROW_TAG = Option("xml_row_tag", STRING, doc="The name of the element of an xml file that is a row.")
XML_ATTRIBUTES = Option(
    "xml_use_attr_format",
    BOOLEAN,
    default=False,
    doc="Whether the values of a row of xml are its attributes; otherwise they are the elements in it.",
)
USE_HEADER = Option(
    "csv_use_header_line",
    BOOLEAN,
    default=False,
    doc="Whether the first line of each csv file names its columns; they may then stand in any order.",
)
QUOTE = Option("quote_char", STRING, default='"', doc="The character around values in csv; empty for none.")
ESCAPE = Option(
    "escape_char", STRING, doc="A character that takes the next one literally. Files with escapes are not split."
)
NULL_FORMAT = Option(
    "null_format", STRING, doc="A text that means null, such as NA. An empty value that is not quoted is always null."
)
EMPTY_VALUE = Option(
    "empty_value",
    ENUM("NULL", "TEXT"),
    default="NULL",
    doc="What a value without characters is in a column of texts or bytes of text and csv: null, as with SeaTunnel, or "
    "the empty text, where null_format says what null is. With TEXT a file is read line by line, which takes longer.",
)
DATE_FORMAT = Option("date_format", STRING, default="yyyy-MM-dd", doc="How dates are written.")
DATETIME_FORMAT = Option(
    "datetime_format", STRING, default="yyyy-MM-dd HH:mm:ss", doc="How timestamps are written; ISO 8601 always works."
)
TIME_FORMAT = Option(
    "time_format",
    ENUM("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm"),
    default="HH:mm:ss",
    doc="How times are written; all of these are recognised.",
)
ENCODING = Option("encoding", STRING, default="UTF-8", doc="The character encoding of text files.")
COMPRESS = Option(
    "compress_codec",
    ENUM("none", "gzip", "zlib", "snappy", "lz4", "zstd", "brotli", "bz2", "lzo"),
    default="none",
    doc="How text, csv, json and xml files are packed. Packed files are not split. Parquet and ORC know it themselves.",
)
ARCHIVE = Option(
    "archive_compress_codec",
    ENUM("none", "zip", "tar", "tar_gz", "gz"),
    default="none",
    doc="The kind of archive in which the files lie, one or several in each. An archive is read by one task.",
)
FILTER = Option(
    "file_filter_pattern",
    STRING,
    doc="A regular expression that the name of a file must match as a whole; the whole path, when it contains a slash.",
)
EXTENSION = Option("filename_extension", STRING, doc="Only files that end so are read, for example csv.")
MODIFIED_START = Option(
    "file_filter_modified_start",
    MOMENT,
    doc="Only files that were last changed at this moment or later are read: 2024-01-31 12:00:00, in local time.",
)
MODIFIED_END = Option(
    "file_filter_modified_end", MOMENT, doc="Only files that were last changed before this moment are read."
)
SORT_BY_TIME = Option(
    "sort_files_by_modification_time",
    BOOLEAN,
    default=False,
    no_effect="files are sorted by path, so that a restart finds the same order, and columns are those of all files",
    doc="Whether SeaTunnel reads the newest file first.",
)
RECURSIVE = Option("recursive_file_scan", BOOLEAN, default=True, doc="Whether folders inside the folder are read.")
PARTITIONS = Option(
    "parse_partition_from_path",
    BOOLEAN,
    default=True,
    doc="Whether folders named key=value become columns: strings at the end, or of the type that schema declares.",
)
READ_PARTITIONS = Option(
    "read_partitions",
    LIST(STRING),
    doc="Only files below one of these folders are read, for example year=2013/month=1.",
)
SPLIT = Option("enable_file_split", BOOLEAN, default=True, doc="Whether large files are read in several pieces.")
SPLIT_SIZE = Option(
    "split_size",
    SIZE,
    default=32_000_000,
    unit="bytes",
    aliases=("file_split_size",),
    doc="How much of a file one piece has.",
)
CHUNK_SIZE = Option(
    "binary_chunk_size",
    SIZE,
    default=1 << 20,
    unit="bytes",
    doc="How much of a binary file one row holds.",
)
COMPLETE_FILE = Option(
    "binary_complete_file_mode",
    BOOLEAN,
    default=False,
    doc="Whether one row holds a whole binary file, of less than 2 GiB, whatever binary_chunk_size says.",
)
DISCOVERY = Option(
    "discovery_mode",
    ENUM("once", "continuous"),
    default="once",
    doc="`once` reads the files that are there when the job starts; `continuous` watches for new ones and never ends.",
)
SCAN_INTERVAL = Option(
    "scan_interval",
    SCAN_DURATION,
    default=10_000,
    unit="ms",
    doc="How often a watched folder is listed. A file is read when two listings show it with the same size and time.",
)
START_MODE = Option(
    "start_mode",
    ENUM("earliest", "latest"),
    default="earliest",
    doc="`latest` does not read the files that a watched folder has at the first look.",
)
SYNC_MODE = Option(
    "sync_mode",
    ENUM("full"),
    default="full",
    doc="Always full: which files the target has already is not looked at.",
)
POST_SYNC = Option(
    "post_sync_action", ENUM("none"), default="none", doc="Always none: files that were read stay where they are."
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="What happens with a row that cannot be read: the pipeline fails, or the row is counted and left out. When it "
    "is set, also with lines that have more or fewer values than columns, which are read otherwise.",
)

MISSING_COLUMNS = Option(
    "missing_columns",
    ENUM("FAIL", "NULL"),
    default="FAIL",
    doc="What becomes of a column that other files, or schema, have and this one has not: an error, or null. A "
    "defaultValue in schema, which may be null, says it for one column.",
)

OF_A_TABLE: tuple[Option[Any], ...] = (
    PATH,
    FORMAT,
    SCHEMA_BLOCK,
    *INFERENCE,
    READ_COLUMNS,
    FIELD_DELIMITER,
    ROW_DELIMITER,
    SKIP_HEADER,
    SHEET_NAME,
    EXCEL_ENGINE,
    XML_ROW_TAG,
    XML_ATTRIBUTES,
    USE_HEADER,
    QUOTE,
    ESCAPE,
    NULL_FORMAT,
    EMPTY_VALUE,
    DATE_FORMAT,
    DATETIME_FORMAT,
    TIME_FORMAT,
    ENCODING,
    COMPRESS,
    ARCHIVE,
    FILTER,
    EXTENSION,
    MODIFIED_START,
    MODIFIED_END,
    SORT_BY_TIME,
    RECURSIVE,
    PARTITIONS,
    READ_PARTITIONS,
    SPLIT,
    SPLIT_SIZE,
    CHUNK_SIZE,
    COMPLETE_FILE,
    DISCOVERY,
    SCAN_INTERVAL,
    START_MODE,
    SYNC_MODE,
    POST_SYNC,
    MISSING_COLUMNS,
    ROW_ERRORS,
)


def source_options(*of_system: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options of a source on a file system with options of its own."""
    own = (*of_system, *OF_A_TABLE)
    return (*own, INCREMENTAL, tables_option(each for each in own if each != ROW_ERRORS))


SOURCE_OPTIONS = source_options()
