"""The options of the ``LocalFile`` sink, with SeaTunnel's names where SeaTunnel has the option."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, STRING, Option, within
from seatunnel_core.connectors import write_mode
from seatunnel_core.connectors.declared_options import declared
from seatunnel_core.connectors.file.formats.names import WRITTEN

PATH = Option(
    "path",
    STRING,
    required=True,
    doc="Folder to write to. May contain variables of the rows' table: ${database_name}, ${schema_name}, "
    "${table_name}, ${schema_full_name}, ${table_full_name}, ${primary_key}, ${unique_key}, ${field_names} "
    "and ${comment}. ${schema_name:public} sets a default for tables without a schema.",
)
FORMAT = Option(
    "file_format_type",
    ENUM(*WRITTEN),
    default="csv",
    aliases=("file_format", "format"),
    doc="Format of the files. json means one object per line.",
)
CUSTOM_FILENAME = Option(
    "custom_filename",
    BOOLEAN,
    default=False,
    doc="True to use file_name_expression. By default, true if file_name_expression is set.",
)
FILE_NAME = Option(
    "file_name_expression",
    STRING,
    default="${transactionId}",
    doc="File name, with ${transactionId}, ${now}, ${uuid} and, after ${transactionId}, the variables of path. "
    "${transactionId}_ is prepended if missing.",
)
TIME_FORMAT = Option("filename_time_format", STRING, default="yyyy.MM.dd", doc="Format of ${now}: a Java date pattern.")
EXTENSION = Option("filename_extension", STRING, doc="File name extension; by default, the format's.")
FIELD_DELIMITER = Option(
    "field_delimiter",
    STRING,
    aliases=("delimiter",),
    doc="Field delimiter: by default a comma for csv and U+0001 for text. For text it may have several characters.",
)
ROW_DELIMITER = Option(
    "row_delimiter", ENUM("\\n", "\n", "\\r\\n", "\r\n"), default="\n", doc="Line separator of text and json files."
)
NULL_FORMAT = Option(
    "null_format",
    STRING,
    doc=(
        "String for null in text and csv files, such as \\N. If unset, null is written as an empty value, like the "
        "empty string in text files. A source with the same null_format and empty_value = TEXT reads both back "
        "unchanged."
    ),
)
HAVE_PARTITION = Option(
    "have_partition",
    BOOLEAN,
    default=False,
    doc="True to use partition_by. By default, true if partition_by is set.",
)
PARTITION_BY = Option("partition_by", LIST(STRING), doc="Columns that determine the folder of a row.")
PARTITION_DIR = Option(
    "partition_dir_expression",
    STRING,
    default="${k0}=${v0}/${k1}=${v1}/.../${kn}=${vn}/",
    doc="Folder path of a row: ${k0} is the name of the first partition column and ${v0} its value.",
)
PARTITION_IN_FILE = Option(
    "is_partition_field_write_in_file",
    BOOLEAN,
    default=False,
    doc="True to also write the partition columns into the files.",
)
SINK_COLUMNS = Option("sink_columns", LIST(STRING), doc="Columns to write, in this order; all by default.")
BATCH_SIZE = Option(
    "batch_size", within(1, 2**31 - 1), default=1_000_000, unit="rows", doc="Maximum number of rows per file."
)
SINGLE_FILE = Option(
    "single_file_mode", BOOLEAN, default=False, doc="True to write one file per work unit; batch_size is then ignored."
)
EMPTY_FILE = Option(
    "create_empty_file_when_no_data",
    BOOLEAN,
    default=False,
    doc="True to write an empty file for a work unit without rows. Not allowed with partition_by.",
)
COMPRESS = Option(
    "compress_codec",
    ENUM("none", "snappy", "gzip", "zlib", "zstd", "lz4", "bz2", "brotli", "lzo"),
    doc="Compression; by default snappy for parquet and orc, and none for others.",
)
HEADER = Option(
    "enable_header_write",
    BOOLEAN,
    default=False,
    doc="True to write the column names into the first line of csv and text files; excel files always have them.",
)
QUOTE_MODE = Option(
    "csv_string_quote_mode",
    ENUM("MINIMAL", "ALL"),
    default="MINIMAL",
    doc="MINIMAL quotes only values that need quotes, and the empty string, to distinguish it from null. ALL quotes "
    "every value except null. The header is not quoted.",
)
SHEET_NAME = Option("sheet_name", STRING, default="Sheet1", doc="Name of the sheet in excel files.")
SHEET_ROWS = Option(
    "sheet_max_rows",
    within(1, 1_048_575),
    unit="rows",
    doc="Maximum number of rows in a sheet of an excel file; further rows go into another file.",
)
MAX_ROWS = Option(
    "max_rows_in_memory",
    within(1, 2**31 - 1),
    no_effect="at most one batch of rows is held in memory",
    doc="SeaTunnel's number of rows held in memory while writing excel files.",
)
XML_ROOT_TAG = Option("xml_root_tag", STRING, default="RECORDS", doc="Name of the root element of xml files.")
XML_ROW_TAG = Option("xml_row_tag", STRING, default="RECORD", doc="Name of the XML element for each row.")
XML_ATTRIBUTES = Option(
    "xml_use_attr_format",
    BOOLEAN,
    default=False,
    doc="True to write the values of an xml row as attributes; false for child elements.",
)
INT96 = Option(
    "parquet_avro_write_timestamp_as_int96",
    BOOLEAN,
    default=False,
    doc="True to write timestamps in parquet files as INT96, which is deprecated, for old readers.",
)
ENCODING = Option(
    "encoding",
    STRING,
    default="UTF-8",
    doc="Character encoding of csv, text, json and xml files; any encoding that Python supports.",
)
DATE_FORMAT = Option(
    "date_format", STRING, doc="Format of dates in csv, text, json and xml files; yyyy-MM-dd by default."
)
DATETIME_FORMAT = Option(
    "datetime_format",
    STRING,
    doc="Format of timestamps in csv, text, json and xml files, such as yyyy-MM-dd HH:mm:ss.SSS; ISO 8601 by default.",
)
TIME_FORMAT_OF_DAY = Option(
    "time_format",
    ENUM("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm"),
    doc="Format of times in csv, text, json and xml files; with microseconds by default.",
)
WRITE_MODE = evolve(
    write_mode.WRITE_MODE,
    type=ENUM("append", "replace"),
    doc="append adds files. replace writes the files of the whole run to a new folder and swaps it with the "
    "existing one after the last row; it needs write permission on the parent folder.",
)
REPLACE_PARTITIONS = evolve(
    write_mode.REPLACE_PARTITIONS,
    doc="With write_mode = replace: the columns of partition_by. Only partitions that receive rows in this run "
    "are replaced.",
)
DATA_SAVE_MODE = Option(
    "data_save_mode",
    ENUM("APPEND_DATA", "DROP_DATA", "ERROR_WHEN_DATA_EXISTS"),
    default="APPEND_DATA",
    doc="Handling of files that exist in the folder when the job first starts.",
)
SCHEMA_SAVE_MODE = Option(
    "schema_save_mode",
    ENUM("CREATE_SCHEMA_WHEN_NOT_EXIST", "RECREATE_SCHEMA", "ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"),
    default="CREATE_SCHEMA_WHEN_NOT_EXIST",
    doc=(
        "Handling of the folder when the job first starts: create it, recreate it empty, or require that it exists. "
        "IGNORE also creates it."
    ),
)
EVOLUTION = Option(
    "schema_evolution_enabled",
    ENUM("false"),
    default="false",
    doc="Always false: the columns of a table do not change during a job.",
)
TRANSACTION = Option(
    "is_enable_transaction",
    ENUM("true"),
    default="true",
    doc="Always true: files become visible when a checkpoint completes.",
)
TMP_PATH = Option(
    "tmp_path",
    STRING,
    no_effect="files are staged in the folder .seatunnel of the target, so that they can be published by a rename",
    doc="SeaTunnel's folder for staged files.",
)

SINK_OPTIONS: tuple[Option[Any], ...] = (
    *declared(vars(), PATH, REPLACE_PARTITIONS),
    write_mode.PARTITIONS_COMPLETE,
    *declared(vars(), DATA_SAVE_MODE, TMP_PATH),
)
