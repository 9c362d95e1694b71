"""Options of the ``Http`` source and sink, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.increments import incremental_option
from seatunnel_core.connector_api.option import (
    BOOLEAN,
    DURATION_MS,
    ENTRIES,
    ENUM,
    MAP,
    SCHEMA,
    SIZE,
    STRING,
    Option,
    within,
)
from seatunnel_core.connector_api.several_tables import tables_option
from seatunnel_core.connectors.schema_options import INFERENCE

PAGE_NUMBER, CURSOR, LINK = "PageNumber", "Cursor", "Link"

URL = Option("url", STRING, required=True, secret=True, doc="Request URL, starting with http:// or https://.")
HEADERS = Option("headers", MAP, secret=True, doc="Headers of each request.")
PARAMS = Option("params", MAP, secret=True, doc="Query parameters of each request.")

RETRY = Option(
    "retry",
    within(0, 100),
    default=3,
    doc="Maximum retries of a request that gets no response, or status 429, 502, 503 or 504. A Retry-After header "
    "(seconds or a date) sets the delay, up to five minutes.",
)
BACKOFF = Option(
    "retry_backoff_multiplier_ms",
    DURATION_MS,
    default=100,
    unit="ms",
    doc="Delay before the first retry; doubled for each further retry.",
)
BACKOFF_MAX = Option(
    "retry_backoff_max_ms", DURATION_MS, default=10_000, unit="ms", doc="Maximum delay before a retry."
)
CONNECT_TIMEOUT = Option("connect_timeout_ms", DURATION_MS, default=12_000, unit="ms", doc="Timeout for connecting.")
SOCKET_TIMEOUT = Option(
    "socket_timeout_ms", DURATION_MS, default=60_000, unit="ms", doc="Timeout for each read of a response."
)
CA_FILE = Option(
    "tls_ca_file",
    STRING,
    doc="PEM file with trusted certificates, also needed on the machines of the tasks. If unset, REQUESTS_CA_BUNDLE, "
    "otherwise Python's certifi. The certificate of the service is always verified.",
)
CERTIFICATE = Option("tls_certificate_file", STRING, doc="PEM file with the client certificate.")
KEY = Option(
    "tls_key_file",
    STRING,
    doc="PEM file with the unencrypted key of the client certificate, if it is in a separate file.",
)

CONNECTION: tuple[Option[Any], ...] = (
    RETRY,
    BACKOFF,
    BACKOFF_MAX,
    CONNECT_TIMEOUT,
    SOCKET_TIMEOUT,
    CA_FILE,
    CERTIFICATE,
    KEY,
)

METHOD = Option("method", ENUM("GET", "POST"), default="GET", doc="HTTP method.")
BODY = Option(
    "body",
    STRING,
    secret=True,
    doc="Body of each request, usually JSON. Content-Type is application/json unless set in headers. With "
    "application/x-www-form-urlencoded a JSON object is sent as a form.",
)
AS_FORM = Option(
    "keep_params_as_form",
    BOOLEAN,
    doc="True to send the params of a POST as a form in the body, false to send them in the URL. If unset and there is "
    "no body, they are sent in both places, because SeaTunnel versions differ.",
)
FORMAT = Option(
    "format",
    ENUM("json", "text", "binary"),
    doc="Format of the responses. If unset, json if schema has columns, otherwise text, with one column, content.",
)
SCHEMA_BLOCK = Option("schema", SCHEMA, doc="Columns and table name.")
CONTENT_FIELD = Option(
    "content_field", STRING, doc='JSONPath of the rows in each response, such as "$.data[*]" or "$.store.book.*".'
)
JSON_FIELD = Option(
    "json_field",
    MAP,
    doc='JSONPaths of the column values, { title = "$.books[*].title" }, used instead of the column names. The part up '
    "to the last [*] of a path selects the rows.",
)
MISSED_IS_NULL = Option(
    "json_filed_missed_return_null",
    BOOLEAN,
    default=False,
    aliases=("json_field_missed_return_null",),
    doc="True to return nulls (no rows for content_field) if a path matches nothing in a whole response; false to "
    "fail.",
)
MULTI_LINES = Option(
    "enable_multi_lines",
    BOOLEAN,
    default=False,
    doc="True to parse each line of a response separately: JSON lines, or a row of text per line.",
)
CHUNK_SIZE = Option(
    "binary_chunk_size",
    SIZE,
    default=1 << 20,
    unit="bytes",
    doc="Number of file bytes in each row, with format = binary.",
)
KEEP_PAGE = Option(
    "keep_page_param_as_http_param",
    BOOLEAN,
    default=False,
    doc="True to send the page number or cursor only in params, even if its name also occurs elsewhere in the request.",
)

PAGE_FIELD = Option("page_field", STRING, default="page", doc="Name of the page number in the request.")
TOTAL_PAGES = Option("total_page_size", within(0, 10**9), default=0, doc="Number of the last page; 0 if unknown.")
PAGE_ROWS = Option(
    "batch_size",
    within(1, 10**9),
    unit="rows",
    doc=(
        "Rows per page. If total_page_size is unset, a page with fewer rows is the last one; after a short first "
        "page, the second is still requested, because a service may limit its pages. If both are unset, a page "
        "without rows is the last one."
    ),
)
START_PAGE = Option("start_page_number", within(0, 10**9), default=1, doc="Number of the first page.")
PAGE_TYPE = Option(
    "page_type",
    ENUM(PAGE_NUMBER, CURSOR, LINK),
    default=PAGE_NUMBER,
    doc="Type of paging: by page number, by the cursor in the previous response, or by the rel=next URL in the "
    "Link header.",
)
HAS_MORE = Option(
    "has_more_response_field",
    STRING,
    doc="JSONPath of a flag in a response that is true if more pages follow. With page numbers, only this flag "
    "determines the last page; with cursors, a missing cursor also ends paging.",
)
CURSOR_FIELD = Option(
    "cursor_field",
    STRING,
    default="cursor",
    doc="Name of the cursor in the request. If unset, the cursor must be a URL on the same host, absolute or relative "
    "to the current page, such as /x?after=2 or ?after=2, and is requested as the next page.",
)
CURSOR_RESPONSE = Option(
    "cursor_response_field",
    STRING,
    doc="JSONPath of the next page's cursor in a response. The last page has no cursor.",
)
PLACEHOLDER = Option(
    "use_placeholder_replacement",
    BOOLEAN,
    default=False,
    doc="True to replace the placeholder ${page}, or another name, in url, headers, params and body. If false, the key "
    "of that name in params, a JSON body or headers gets the value; if no such key exists, it is added to params.",
)
PAGEING = Option(
    "pageing",
    ENTRIES(
        PAGE_FIELD,
        TOTAL_PAGES,
        PAGE_ROWS,
        START_PAGE,
        PAGE_TYPE,
        CURSOR_FIELD,
        CURSOR_RESPONSE,
        HAS_MORE,
        PLACEHOLDER,
    ),
    aliases=("paging",),
    doc="Paging of responses, as one block.",
)
POLL = Option(
    "poll_interval_millis",
    DURATION_MS,
    default=1000,
    unit="ms",
    doc="Delay before all requests are repeated, with job.mode = STREAMING.",
)
REPLAYABLE = Option(
    "replayable",
    BOOLEAN,
    default=False,
    doc="True to state that repeated requests return the same rows; the engine cannot check this. If false, a failure "
    "may duplicate or lose rows.",
)
BAD_ROWS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="Handling of a row that does not match schema: fail the pipeline, or count and skip the row.",
)

INCREMENTAL = incremental_option(
    "Read only rows added or changed since the last job of this name. `column` is a column of `schema` that "
    "increases with each new or changed row. The first job begins at `start`. `lag` is the maximum delay of a late "
    "row, `key` lists the columns that identify a row, and `param` is the request parameter for the lower bound. "
    "`nulls = SKIP` skips rows without a value.",
    "param",
)

SOURCE_OPTIONS: tuple[Option[Any], ...] = (
    URL,
    METHOD,
    HEADERS,
    PARAMS,
    BODY,
    AS_FORM,
    FORMAT,
    SCHEMA_BLOCK,
    *INFERENCE,
    CONTENT_FIELD,
    JSON_FIELD,
    MISSED_IS_NULL,
    MULTI_LINES,
    CHUNK_SIZE,
    PAGEING,
    KEEP_PAGE,
    POLL,
    REPLAYABLE,
    BAD_ROWS,
    *CONNECTION,
)

ARRAY_MODE = Option(
    "array_mode",
    BOOLEAN,
    default=False,
    doc=("True to send rows as an array of objects, instead of one row per request."),
)
ARRAY_ROWS = Option("batch_size", within(1, 10**6), default=1, unit="rows", doc="Maximum number of rows in an array.")
INTERVAL = Option("request_interval_ms", DURATION_MS, default=0, unit="ms", doc="Delay between two requests of a task.")
SINK_OPTIONS: tuple[Option[Any], ...] = (URL, HEADERS, PARAMS, ARRAY_MODE, ARRAY_ROWS, INTERVAL, *CONNECTION)


def without(options: tuple[Option[Any], ...], *left_out: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options of the source except the given ones."""
    return tuple(option for option in options if option not in left_out)


def with_tables(options: tuple[Option[Any], ...]) -> tuple[Option[Any], ...]:
    """Return the options of a source that reads several tables, given the options of a single table."""
    return (*of_table(options), INCREMENTAL, tables_option(options))


def of_table(options: tuple[Option[Any], ...]) -> tuple[Option[Any], ...]:
    """Return the options with all of them optional, because entries of ``tables_configs`` may set required ones."""
    return tuple(evolve(option, unless=("tables_configs",)) if option.required else option for option in options)
