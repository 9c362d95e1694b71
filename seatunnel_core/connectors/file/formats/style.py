"""Style of written files, from the options of a sink."""

import codecs

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.file import sink_options as opt
from seatunnel_core.connectors.file.formats.delimited.dialect import check_delimiter
from seatunnel_core.connectors.file.formats.encodings import is_text_encoding
from seatunnel_core.connectors.file.formats.names import file_writer
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.connectors.file.formats.written_text import Forms


def style_of(options: Options) -> FileStyle:
    """Return the style of a sink's files; raise ``UsageError`` if options contradict each other."""
    format = options[opt.FORMAT]
    writer = file_writer(format)
    codec = options[opt.COMPRESS] or writer.default_codec
    if codec not in ("none", *writer.codecs):
        takes = f"supported are {', '.join(writer.codecs)}" if writer.codecs else "remove it"
        raise UsageError(f"option 'compress_codec': {codec} is not supported for {format}; {takes}")
    found = FileStyle(
        format=format,
        extension=options[opt.EXTENSION],
        line_end=options[opt.ROW_DELIMITER].replace("\\r", "\r").replace("\\n", "\n"),
        encoding=_encoding(options[opt.ENCODING]),
        forms=_forms(options),
        sheet_name=options[opt.SHEET_NAME],
        sheet_rows=options[opt.SHEET_ROWS],
        int96=options[opt.INT96],
        root_tag=options[opt.XML_ROOT_TAG],
        row_tag=options[opt.XML_ROW_TAG],
        attributes=options[opt.XML_ATTRIBUTES],
        delimiter=_delimiter(options[opt.FIELD_DELIMITER], format),
        null=_null(options[opt.NULL_FORMAT] or "", options[opt.FIELD_DELIMITER], format),
        header=options[opt.HEADER],
        quote_all=options[opt.QUOTE_MODE] == "ALL",
        codec=None if codec == "none" else codec,
    )
    writer.check(found)
    return found


def _null(text: str, delimiter: str | None, format: str) -> str:
    forbidden = {"\r", "\n", '"', _delimiter(delimiter, format)} if text else set()
    if any(sign in text for sign in forbidden):
        raise UsageError(
            f"option 'null_format': {text!r} contains the field delimiter, a quote or a line break; write \\\\N"
        )
    return text


def _delimiter(written: str | None, format: str) -> str:
    if format == "text":
        return check_delimiter(written or "\x01")
    return check_delimiter(written or ",", several="file_format_type = text")


def _encoding(name: str) -> str:
    if not is_text_encoding(name):
        raise UsageError(f"option 'encoding': {name!r} is unknown; use UTF-8, GBK or ISO-8859-1")
    return codecs.lookup(name).name


def _forms(options: Options) -> Forms:
    found = Forms(
        date_format=options[opt.DATE_FORMAT],
        datetime_format=options[opt.DATETIME_FORMAT],
        time_format=options[opt.TIME_FORMAT_OF_DAY],
    )
    try:
        found.check()
    except SourceError as error:
        raise UsageError(f"options 'date_format' and 'datetime_format': {error}") from error
    return found
