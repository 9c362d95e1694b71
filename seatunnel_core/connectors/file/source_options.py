"""The options of the ``LocalFile`` source, with SeaTunnel's names where SeaTunnel has the option."""

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
from seatunnel_core.connectors.declared_options import declared
from seatunnel_core.connectors.file.formats.names import READ
from seatunnel_core.connectors.schema_options import INFERENCE

LEAST_INTERVAL_MS = 100


def _scan_interval(value: Any) -> int:
    """Parse an interval: ``10S`` in SeaTunnel's notation, ``PT10S``, or a ``DURATION_MS``."""
    is_iso = isinstance(value, str) and value.strip().upper().startswith("PT")
    interval_ms = DURATION_MS.parse(value.strip()[2:] if is_iso else value)
    if interval_ms < LEAST_INTERVAL_MS:
        raise ValueError(f"expected at least {LEAST_INTERVAL_MS} ms, found {interval_ms}")
    return interval_ms


SCAN_DURATION: OptionType[int] = OptionType(name="duration", parse=_scan_interval)


def _moment_ns(value: Any) -> int:
    """Parse a local time to nanoseconds since 1970."""
    text = STRING.parse(value).strip()
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return int(dt.datetime.strptime(text, form).timestamp()) * 1_000_000_000
        except ValueError:
            continue
    raise ValueError(f'expected a time such as "2024-01-31 12:00:00", found {text!r}')


MOMENT: OptionType[int] = OptionType(name="moment", parse=_moment_ns, textual=True, shape=json_shape.TEXT)

PATH = Option(
    "path",
    STRING,
    required=True,
    unless=(TABLES,),
    doc="A file, a folder, or a pattern with *, ?, [...], {a,b} and ** (any number of folders).",
)
FORMAT = Option(
    "file_format_type",
    ENUM(*READ),
    required=True,
    unless=(TABLES,),
    aliases=("file_format", "format"),
    doc="Format of the files. json means one object per line.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc=(
        "Columns and their types. By default they are inferred: for json from all rows, for other formats from the "
        "beginning of each file."
    ),
)
READ_COLUMNS = Option("read_columns", LIST(STRING), doc="Columns to read; all by default.")
FIELD_DELIMITER = Option(
    "field_delimiter",
    STRING,
    aliases=("delimiter",),
    doc="Field delimiter: by default a comma for csv and U+0001 for text. For text it is a regular expression. "
    "It may have several characters for text, and for csv with an empty quote_char.",
)
ROW_DELIMITER = Option(
    "row_delimiter",
    ENUM("\\n", "\n", "\\r\\n", "\r\n"),
    default="\n",
    doc="Line separator. By default, LF, CRLF and CR are recognised.",
)
SKIP_HEADER = Option(
    "skip_header_row_number",
    LONG,
    default=0,
    doc="Number of lines, or rows of a sheet, to skip at the start of each file.",
)
SHEET_NAME = Option("sheet_name", STRING, doc="Name of the sheet to read; by default the first one.")
EXCEL_ENGINE = Option(
    "excel_engine",
    ENUM("POI", "EasyExcel"),
    default="POI",
    no_effect="sheets are read row by row, by openpyxl and xlrd",
    doc="SeaTunnel's engine for reading excel files.",
)
XML_ROW_TAG = Option("xml_row_tag", STRING, doc="Name of the XML element for each row.")
XML_ATTRIBUTES = Option(
    "xml_use_attr_format",
    BOOLEAN,
    default=False,
    doc="True if the values of an xml row are attributes, false if they are child elements.",
)
USE_HEADER = Option(
    "csv_use_header_line",
    BOOLEAN,
    default=False,
    doc="True if the first line of each csv file contains the column names, in any order.",
)
QUOTE = Option("quote_char", STRING, default='"', doc="Quote character of csv; empty for none.")
ESCAPE = Option(
    "escape_char",
    STRING,
    doc="Escape character: the next character is taken literally. Files with escapes are not split.",
)
NULL_FORMAT = Option(
    "null_format", STRING, doc="String that represents null, such as NA. An empty unquoted value is always null."
)
EMPTY_VALUE = Option(
    "empty_value",
    ENUM("NULL", "TEXT"),
    default="NULL",
    doc=(
        "Meaning of an empty value in a string or bytes column of text and csv: null, as in SeaTunnel, or the empty "
        "string, so that only null_format means null. TEXT reads files line by line, which is slower."
    ),
)
DATE_FORMAT = Option("date_format", STRING, default="yyyy-MM-dd", doc="Format of dates.")
DATETIME_FORMAT = Option(
    "datetime_format", STRING, default="yyyy-MM-dd HH:mm:ss", doc="Format of timestamps; ISO 8601 is always accepted."
)
TIME_FORMAT = Option(
    "time_format",
    ENUM("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm"),
    default="HH:mm:ss",
    doc="Format of times; all supported formats are recognised.",
)
ENCODING = Option("encoding", STRING, default="UTF-8", doc="Character encoding of text files.")
COMPRESS = Option(
    "compress_codec",
    ENUM("none", "gzip", "zlib", "snappy", "lz4", "zstd", "brotli", "bz2", "lzo"),
    default="none",
    doc=(
        "Compression of text, csv, json and xml files. Compressed files are not split. Parquet and ORC files specify "
        "their own compression."
    ),
)
ARCHIVE = Option(
    "archive_compress_codec",
    ENUM("none", "zip", "tar", "tar_gz", "gz"),
    default="none",
    doc="Type of the archives to read; each contains one or more files, and is read by one task.",
)
FILTER = Option(
    "file_filter_pattern",
    STRING,
    doc="Regular expression that must match the whole file name, or the whole path if it contains a slash.",
)
EXTENSION = Option(
    "filename_extension", STRING, doc="Read only files with names that end with this string, for example csv."
)
MODIFIED_START = Option(
    "file_filter_modified_start",
    MOMENT,
    doc="Read only files modified at or after this local time, such as 2024-01-31 12:00:00.",
)
MODIFIED_END = Option("file_filter_modified_end", MOMENT, doc="Read only files modified before this time.")
SORT_BY_TIME = Option(
    "sort_files_by_modification_time",
    BOOLEAN,
    default=False,
    no_effect="files are read in the order of their paths, and columns are inferred from all files",
    doc="SeaTunnel's option to read the newest file first.",
)
RECURSIVE = Option("recursive_file_scan", BOOLEAN, default=True, doc="True to read subfolders.")
PARTITIONS = Option(
    "parse_partition_from_path",
    BOOLEAN,
    default=True,
    doc=(
        "True to read folders named key=value as columns at the end of the row: strings, or the type declared in "
        "schema."
    ),
)
READ_PARTITIONS = Option(
    "read_partitions",
    LIST(STRING),
    doc="Read only files below one of these folders, for example year=2013/month=1.",
)
SPLIT = Option("enable_file_split", BOOLEAN, default=True, doc="True to read large files in several splits.")
SPLIT_SIZE = Option(
    "split_size",
    SIZE,
    default=32_000_000,
    unit="bytes",
    aliases=("file_split_size",),
    doc="Size of a split of a file.",
)
CHUNK_SIZE = Option(
    "binary_chunk_size",
    SIZE,
    default=1 << 20,
    unit="bytes",
    doc="Number of bytes of a binary file per row.",
)
COMPLETE_FILE = Option(
    "binary_complete_file_mode",
    BOOLEAN,
    default=False,
    doc="True to read a whole binary file, of less than 2 GiB, into one row; binary_chunk_size is then ignored.",
)
DISCOVERY = Option(
    "discovery_mode",
    ENUM("once", "continuous"),
    default="once",
    doc="`once` reads the files that exist when the job starts; `continuous` also watches for new ones and never ends.",
)
SCAN_INTERVAL = Option(
    "scan_interval",
    SCAN_DURATION,
    default=10_000,
    unit="ms",
    doc=(
        "Interval between listings of a watched folder. A file is read after two listings have shown the same size "
        "and time."
    ),
)
START_MODE = Option(
    "start_mode",
    ENUM("earliest", "latest"),
    default="earliest",
    doc="`latest` skips files that exist when the watched folder is first listed.",
)
SYNC_MODE = Option(
    "sync_mode",
    ENUM("full"),
    default="full",
    doc="Always full: files that already exist in the target are not compared.",
)
POST_SYNC = Option(
    "post_sync_action", ENUM("none"), default="none", doc="Always none: files stay where they are after reading."
)
MISSING_COLUMNS = Option(
    "missing_columns",
    ENUM("FAIL", "NULL"),
    default="FAIL",
    doc=(
        "Handling of a column that a file lacks but other files or schema contain: an error, or null. A "
        "defaultValue of the column in schema, which may be null, overrides this option."
    ),
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc=(
        "Handling of a row that cannot be read: fail the pipeline, or count and skip the row. If set, it also applies "
        "to lines with too many or too few values, which are otherwise accepted."
    ),
)

OF_A_TABLE: tuple[Option[Any], ...] = (
    *declared(vars(), PATH, SCHEMA_BLOCK),
    *INFERENCE,
    *declared(vars(), READ_COLUMNS, ROW_ERRORS),
)


def source_options(*of_system: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options of a file source, including those of its file system."""
    own = (*of_system, *OF_A_TABLE)
    return (*own, INCREMENTAL, tables_option(each for each in own if each != ROW_ERRORS))


SOURCE_OPTIONS = source_options()
