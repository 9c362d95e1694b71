"""The options of the sink ``LocalFile``, with SeaTunnel's names where it has them."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, STRING, Option, within
from seatunnel_core.connectors import write_mode
from seatunnel_core.connectors.file.formats.names import WRITTEN

PATH = Option(
    "path",
    STRING,
    required=True,
    doc="The folder to write to. ${database_name}, ${schema_name}, ${table_name}, ${schema_full_name}, "
    "${table_full_name}, ${primary_key}, ${unique_key}, ${field_names} and ${comment} stand for what each table has; "
    "${schema_name:public} gives a value to tables that lack it.",
)
FORMAT = Option(
    "file_format_type",
    ENUM(*WRITTEN),
    default="csv",
    aliases=("file_format", "format"),
    doc="What the files hold; json means one object per line.",
)
CUSTOM_FILENAME = Option(
    "custom_filename",
    BOOLEAN,
    default=False,
    doc="Whether file_name_expression is used; when this is not set, it is used if it is there.",
)
FILE_NAME = Option(
    "file_name_expression",
    STRING,
    default="${transactionId}",
    doc="File names, with ${transactionId}, ${now}, ${uuid} and, behind ${transactionId}, what path takes of tables; "
    "${transactionId}_ is put in front when it is absent.",
)
TIME_FORMAT = Option(
    "filename_time_format", STRING, default="yyyy.MM.dd", doc="How ${now} is written, in Java's letters."
)
EXTENSION = Option("filename_extension", STRING, doc="The end of file names, instead of the format's own.")
FIELD_DELIMITER = Option(
    "field_delimiter",
    STRING,
    aliases=("delimiter",),
    doc="What stands between values: a comma for csv and U+0001 for text when it is not set. Text may have several "
    "characters.",
)
ROW_DELIMITER = Option(
    "row_delimiter", ENUM("\\n", "\n", "\\r\\n", "\r\n"), default="\n", doc="The line end of text and json files."
)
NULL_FORMAT = Option(
    "null_format",
    STRING,
    doc="The text that null is written as in text and csv files, such as \\N; nothing when it is not set, and in text "
    "the empty text is nothing, too. A source reads both back with the same null_format and empty_value = TEXT.",
)
HAVE_PARTITION = Option(
    "have_partition",
    BOOLEAN,
    default=False,
    doc="Whether partition_by is used; when this is not set, it is used if it is there.",
)
PARTITION_BY = Option("partition_by", LIST(STRING), doc="The columns whose values decide about the folder of a row.")
PARTITION_DIR = Option(
    "partition_dir_expression",
    STRING,
    default="${k0}=${v0}/${k1}=${v1}/.../${kn}=${vn}/",
    doc="The folders of a row: ${k0} is the name of the first partition column and ${v0} its value.",
)
PARTITION_IN_FILE = Option(
    "is_partition_field_write_in_file",
    BOOLEAN,
    default=False,
    doc="Whether partition columns are written into the files too.",
)
SINK_COLUMNS = Option("sink_columns", LIST(STRING), doc="The columns to write, in this order; all when it is not set.")
BATCH_SIZE = Option(
    "batch_size", within(1, 2**31 - 1), default=1_000_000, unit="rows", doc="How many rows one file has at most."
)
SINGLE_FILE = Option(
    "single_file_mode", BOOLEAN, default=False, doc="Whether a unit of work writes one file, whatever batch_size says."
)
EMPTY_FILE = Option(
    "create_empty_file_when_no_data",
    BOOLEAN,
    default=False,
    doc="Whether a unit of work without a row leaves a file without a row. Not with partition_by.",
)
COMPRESS = Option(
    "compress_codec",
    ENUM("none", "snappy", "gzip", "zlib", "zstd", "lz4", "bz2", "brotli", "lzo"),
    doc="How files are packed; snappy for parquet and orc and none for the others when it is not set.",
)
HEADER = Option(
    "enable_header_write",
    BOOLEAN,
    default=False,
    doc="Whether csv and text files begin with the names, as excel files always do.",
)
QUOTE_MODE = Option(
    "csv_string_quote_mode",
    ENUM("MINIMAL", "ALL"),
    default="MINIMAL",
    doc="MINIMAL quotes what has to be, and the empty text, so that null is another; ALL quotes everything that is not "
    "null. The header has no quotes.",
)
SHEET_NAME = Option("sheet_name", STRING, default="Sheet1", doc="The name of the sheet of excel files.")
SHEET_ROWS = Option(
    "sheet_max_rows",
    within(1, 1_048_575),
    unit="rows",
    doc="How many rows a sheet of excel files has at most; what is more goes into another file.",
)
MAX_ROWS = Option(
    "max_rows_in_memory",
    within(1, 2**31 - 1),
    no_effect="no more than a batch of rows is held in memory",
    doc="How many rows SeaTunnel holds in memory while it writes excel files.",
)
XML_ROOT_TAG = Option("xml_root_tag", STRING, default="RECORDS", doc="The name of the outermost element of xml files.")
XML_ROW_TAG = Option("xml_row_tag", STRING, default="RECORD", doc="The name of the element of xml files that is a row.")
XML_ATTRIBUTES = Option(
    "xml_use_attr_format",
    BOOLEAN,
    default=False,
    doc="Whether the values of a row of xml become its attributes; otherwise they become elements in it.",
)
INT96 = Option(
    "parquet_avro_write_timestamp_as_int96",
    BOOLEAN,
    default=False,
    doc="Whether timestamps in parquet files are written as INT96, for old readers; it is deprecated.",
)
ENCODING = Option(
    "encoding",
    STRING,
    default="UTF-8",
    doc="The character encoding of csv, text, json and xml files: any that Python has.",
)
DATE_FORMAT = Option(
    "date_format", STRING, doc="How dates are written in csv, text, json and xml files; yyyy-MM-dd when it is not set."
)
DATETIME_FORMAT = Option(
    "datetime_format",
    STRING,
    doc="How timestamps are written in such files, as yyyy-MM-dd HH:mm:ss.SSS; as ISO 8601 when it is not set.",
)
TIME_FORMAT_OF_DAY = Option(
    "time_format",
    ENUM("HH:mm:ss", "HH:mm:ss.SSS", "HH:mm"),
    doc="How times are written in such files; with microseconds when it is not set.",
)
WRITE_MODE = evolve(
    write_mode.WRITE_MODE,
    type=ENUM("append", "replace"),
    doc="append adds files. replace puts a new folder with the files of the whole run in the place of the old one when "
    "the last row has come; it needs the right to write to the folder above.",
)
REPLACE_PARTITIONS = evolve(
    write_mode.REPLACE_PARTITIONS,
    doc="With write_mode = replace: the columns of partition_by. Only folders of partitions are replaced for which "
    "rows come in this run.",
)
DATA_SAVE_MODE = Option(
    "data_save_mode",
    ENUM("APPEND_DATA", "DROP_DATA", "ERROR_WHEN_DATA_EXISTS"),
    default="APPEND_DATA",
    doc="What happens with files that are in the folder when the job first starts.",
)
SCHEMA_SAVE_MODE = Option(
    "schema_save_mode",
    ENUM("CREATE_SCHEMA_WHEN_NOT_EXIST", "RECREATE_SCHEMA", "ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"),
    default="CREATE_SCHEMA_WHEN_NOT_EXIST",
    doc="What happens with the folder when the job first starts: it is created, emptied, or has to be there. IGNORE "
    "creates it, too.",
)
EVOLUTION = Option(
    "schema_evolution_enabled",
    ENUM("false"),
    default="false",
    doc="Always false: the columns of a table stay as they are for the whole job.",
)
TRANSACTION = Option(
    "is_enable_transaction", ENUM("true"), default="true", doc="Always true: files appear when a checkpoint completes."
)
TMP_PATH = Option(
    "tmp_path",
    STRING,
    no_effect="files are staged in the folder .seatunnel of the target, from which they can be renamed",
    doc="Where SeaTunnel stages files.",
)

SINK_OPTIONS: tuple[Option[Any], ...] = (
    PATH,
    FORMAT,
    CUSTOM_FILENAME,
    FILE_NAME,
    TIME_FORMAT,
    EXTENSION,
    FIELD_DELIMITER,
    ROW_DELIMITER,
    NULL_FORMAT,
    HAVE_PARTITION,
    PARTITION_BY,
    PARTITION_DIR,
    PARTITION_IN_FILE,
    SINK_COLUMNS,
    BATCH_SIZE,
    SINGLE_FILE,
    EMPTY_FILE,
    COMPRESS,
    HEADER,
    QUOTE_MODE,
    SHEET_NAME,
    SHEET_ROWS,
    MAX_ROWS,
    XML_ROOT_TAG,
    XML_ROW_TAG,
    XML_ATTRIBUTES,
    INT96,
    ENCODING,
    DATE_FORMAT,
    DATETIME_FORMAT,
    TIME_FORMAT_OF_DAY,
    WRITE_MODE,
    REPLACE_PARTITIONS,
    write_mode.PARTITIONS_COMPLETE,
    DATA_SAVE_MODE,
    SCHEMA_SAVE_MODE,
    EVOLUTION,
    TRANSACTION,
    TMP_PATH,
)
