"""The options of the source and of the sink ``Http``, with SeaTunnel's names."""

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

URL = Option("url", STRING, required=True, secret=True, doc="Where the requests go, with http:// or https://.")
HEADERS = Option("headers", MAP, secret=True, doc="Headers of each request.")
PARAMS = Option("params", MAP, secret=True, doc="What stands behind ? in each request.")

RETRY = Option(
    "retry",
    within(0, 100),
    default=3,
    doc="How often a request is repeated that was not answered, or with 429, 502, 503 or 504. When the service says "
    "how long to wait (Retry-After: seconds or a date), that is kept to, for five minutes at most.",
)
BACKOFF = Option(
    "retry_backoff_multiplier_ms",
    DURATION_MS,
    default=100,
    unit="ms",
    doc="How long to wait before a request is repeated; twice as long each time.",
)
BACKOFF_MAX = Option("retry_backoff_max_ms", DURATION_MS, default=10_000, unit="ms", doc="But no longer than this.")
CONNECT_TIMEOUT = Option(
    "connect_timeout_ms", DURATION_MS, default=12_000, unit="ms", doc="How long to wait for a connection."
)
SOCKET_TIMEOUT = Option(
    "socket_timeout_ms", DURATION_MS, default=60_000, unit="ms", doc="How long to wait for the next piece of an answer."
)
CA_FILE = Option(
    "tls_ca_file",
    STRING,
    doc="A PEM file with the certificates that are trusted, on the machines of the tasks too; else those that are "
    "installed with Python's certifi, or that REQUESTS_CA_BUNDLE names. The service's certificate is always verified.",
)
CERTIFICATE = Option(
    "tls_certificate_file", STRING, doc="A PEM file with the certificate that is shown to the service."
)
KEY = Option(
    "tls_key_file", STRING, doc="The key of that certificate, if it is not in the same file; without a password."
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

METHOD = Option("method", ENUM("GET", "POST"), default="GET", doc="How to ask.")
BODY = Option(
    "body",
    STRING,
    secret=True,
    doc="What each request brings, mostly JSON; its Content-Type is application/json unless headers say otherwise. "
    "With application/x-www-form-urlencoded an object of JSON is sent as a form.",
)
AS_FORM = Option(
    "keep_params_as_form",
    BOOLEAN,
    doc="Whether the params of a POST are a form in its body, or stand in the url. Without it they are in both places "
    "when there is no body, as versions of SeaTunnel differ.",
)
FORMAT = Option(
    "format",
    ENUM("json", "text", "binary"),
    doc="What the answers are. Without it json where schema has columns, else text: one column content.",
)
SCHEMA_BLOCK = Option("schema", SCHEMA, doc="The columns, and the name of the table.")
CONTENT_FIELD = Option(
    "content_field", STRING, doc='A JSONPath to the rows in each answer, such as "$.data[*]" or "$.store.book.*".'
)
JSON_FIELD = Option(
    "json_field",
    MAP,
    doc='JSONPaths to the values of columns, { title = "$.books[*].title" }, instead of their names in an object. What '
    "stands up to the last [*] of a path is a row.",
)
MISSED_IS_NULL = Option(
    "json_filed_missed_return_null",
    BOOLEAN,
    default=False,
    aliases=("json_field_missed_return_null",),
    doc="Whether a path that finds nothing in a whole answer gives nulls, or no rows for content_field, instead of an "
    "error.",
)
MULTI_LINES = Option(
    "enable_multi_lines",
    BOOLEAN,
    default=False,
    doc="Whether each line of an answer stands for itself: JSON lines, or a row of text per line.",
)
CHUNK_SIZE = Option(
    "binary_chunk_size",
    SIZE,
    default=1 << 20,
    unit="bytes",
    doc="How much of a file is in a row, with format = binary.",
)
KEEP_PAGE = Option(
    "keep_page_param_as_http_param",
    BOOLEAN,
    default=False,
    doc="Whether page or cursor are among params, wherever else their names stand.",
)

PAGE_FIELD = Option("page_field", STRING, default="page", doc="What the page's number is called in the request.")
TOTAL_PAGES = Option(
    "total_page_size", within(0, 10**9), default=0, doc="The number of the last page; 0 when nobody knows it."
)
PAGE_ROWS = Option(
    "batch_size",
    within(1, 10**9),
    unit="rows",
    doc="A page with fewer rows is the last one, where total_page_size is not known; if the first page has fewer, the "
    "next one is requested, too, as a service may limit its pages. Without it, a page without rows is the last one.",
)
START_PAGE = Option("start_page_number", within(0, 10**9), default=1, doc="The number of the first page.")
PAGE_TYPE = Option(
    "page_type",
    ENUM(PAGE_NUMBER, CURSOR, LINK),
    default=PAGE_NUMBER,
    doc="How pages are requested: by number, by the cursor in the previous answer, or by the address with rel=next in "
    "its header Link.",
)
HAS_MORE = Option(
    "has_more_response_field",
    STRING,
    doc="A JSONPath to a flag in an answer that is true if pages follow. It decides alone where pages by number end, "
    "and ends pages by cursor, too.",
)
CURSOR_FIELD = Option(
    "cursor_field",
    STRING,
    default="cursor",
    doc="Name of the cursor in the request. Without it, a cursor that is an address of the same host is requested as "
    "it is: a url, or one relative to the page that contains it, such as /x?after=2 or ?after=2.",
)
CURSOR_RESPONSE = Option(
    "cursor_response_field",
    STRING,
    doc="A JSONPath to the cursor of the next page in an answer; the last page has none.",
)
PLACEHOLDER = Option(
    "use_placeholder_replacement",
    BOOLEAN,
    default=False,
    doc="Whether ${page}, or whatever the name is, stands for the value in url, headers, params and body. Without it "
    "the value of the key of that name is replaced, in params, in a JSON body or in headers; where there is none, it "
    "is added to params.",
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
    doc="One block, for answers that come in pages.",
)
POLL = Option(
    "poll_interval_millis",
    DURATION_MS,
    default=1000,
    unit="ms",
    doc="How long to wait before everything is asked for again, with job.mode = STREAMING.",
)
REPLAYABLE = Option(
    "replayable",
    BOOLEAN,
    default=False,
    doc="Whether asking again gives the same rows. Only you can know; without it a failure may double or lose rows.",
)
BAD_ROWS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    doc="What happens when a row is not what schema says: the pipeline fails, or the row is counted and left out.",
)

INCREMENTAL = incremental_option(
    "Read only what came since the last job of this name: `column` of `schema` grows with each row and each change of "
    "one; `start` is where the first job begins, `lag` how much later than others a row may arrive, `key` the columns "
    "that tell rows apart, `param` what the service calls the value from which on it answers, `nulls = SKIP` leaves "
    "rows out that have no value.",
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
    "array_mode", BOOLEAN, default=False, doc="Whether rows are sent as an array of objects, instead of one by one."
)
ARRAY_ROWS = Option("batch_size", within(1, 10**6), default=1, unit="rows", doc="How many rows an array has at most.")
INTERVAL = Option(
    "request_interval_ms", DURATION_MS, default=0, unit="ms", doc="How long a task waits between two requests."
)
SINK_OPTIONS: tuple[Option[Any], ...] = (URL, HEADERS, PARAMS, ARRAY_MODE, ARRAY_ROWS, INTERVAL, *CONNECTION)


def without(options: tuple[Option[Any], ...], *left_out: Option[Any]) -> tuple[Option[Any], ...]:
    """Return the options without some of them."""
    return tuple(option for option in options if option not in left_out)


def with_tables(options: tuple[Option[Any], ...]) -> tuple[Option[Any], ...]:
    """Return all options of a source whose single tables have these."""
    return (*of_table(options), INCREMENTAL, tables_option(options))


def of_table(options: tuple[Option[Any], ...]) -> tuple[Option[Any], ...]:
    """Return the options with required ones optional beside ``tables_configs``, whose entries have them."""
    return tuple(evolve(option, unless=("tables_configs",)) if option.required else option for option in options)
