"""Options of the ``Redis`` source and sink, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, SCHEMA, STRING, Option, within
from seatunnel_core.connector_api.several_tables import tables_option
from seatunnel_core.connectors.messages.options import DELIMITER, ROW_ERRORS

HOST = Option("host", STRING, required=True, unless=("nodes",), doc="Host of the server.")
PORT = Option("port", within(1, 65_535), default=6379, doc="Port of the server.")
USER = Option("user", STRING, doc="User name. By default the default user of the server.")
AUTH = Option("auth", STRING, secret=True, doc="Password.")
DB_NUM = Option("db_num", within(0, 2**31 - 1), default=0, doc="Number of the database. A cluster has only database 0.")
MODE = Option("mode", ENUM("single", "cluster"), default="single", doc="One server, or a Redis Cluster.")
NODES: Option[tuple[str, ...]] = Option("nodes", LIST(), doc='Nodes of a cluster: ["redis-0:6379", "redis-1:6379"].')
SSL = Option("ssl", BOOLEAN, default=False, doc="Connect with TLS.")
SSL_CA = Option(
    "ssl_ca_certs", STRING, doc=("PEM file with the trusted certificates; by default the certificates of the system.")
)
SSL_CERT = Option("ssl_certfile", STRING, doc="PEM file with the client's certificate, if the server requires one.")
SSL_KEY = Option("ssl_keyfile", STRING, doc="PEM file with the private key of the client's certificate.")
TLS: tuple[Option[Any], ...] = (SSL_CA, SSL_CERT, SSL_KEY)
SERVER: tuple[Option[Any], ...] = (HOST, PORT, USER, AUTH, DB_NUM, MODE, NODES, SSL, *TLS)

TYPES = ENUM("key", "string", "hash", "list", "set", "zset")
DATA_TYPE = Option("data_type", TYPES, required=True, doc="Type of the keys. key and string both mean a single value.")
FORMAT = Option("format", ENUM("json", "text"), default="json", doc="Format of a value that contains a row.")
BATCH = Option("batch_size", within(1, 100_000), default=1_000, doc="Number of keys or rows per request.")

KEYS = Option(
    "keys",
    STRING,
    required=True,
    doc=("Pattern of the keys to read, with *, ? and [ ]; all keys must have the same type."),
)
COLUMNS = Option("schema", SCHEMA, doc="Columns; by default one column, content, with the whole value.")
HASH_MODE = Option(
    "hash_key_parse_mode",
    ENUM("all", "kv"),
    default="all",
    doc="all reads each hash as a row, with its fields as columns; kv reads each field as a row.",
)
READ_KEY = Option("read_key_enabled", BOOLEAN, default=False, doc="Add the key to each row.")
KEY_FIELD = Option(
    "key_field_name", STRING, doc=("Column for the key, by default key; with kv the column for the field.")
)
SINGLE = Option(
    "single_field_name",
    STRING,
    doc="Column for a value that is not a JSON object, if there is also a key or field column.",
)
_MORE: tuple[Option[Any], ...] = (FORMAT, DELIMITER, BATCH, COLUMNS, HASH_MODE, READ_KEY, KEY_FIELD, SINGLE)
_FIRST = tuple(evolve(option, unless=("tables_configs",)) for option in (KEYS, DATA_TYPE))
_TABLES = tables_option((KEYS, DATA_TYPE, *_MORE))
SOURCE_OPTIONS: tuple[Option[Any], ...] = (*SERVER, *_FIRST, *_MORE, _TABLES, ROW_ERRORS)

KEY = Option(
    "key",
    STRING,
    required=True,
    names_columns=True,
    doc="Column with the key, or the key itself; ${table_name} stands for the table.",
)
CUSTOM = Option("support_custom_key", BOOLEAN, default=False, doc="Replace ${column} and {column} in key with values.")
VALUE = Option("value_field", STRING, doc="Column to write as the value; by default the whole row, in format.")
HASH_KEY = Option("hash_key_field", STRING, doc="Column with the field of a hash; by default each column is a field.")
HASH_VALUE = Option(
    "hash_value_field", STRING, doc=("Column with the value of the field; by default the whole row, in format.")
)
_SECONDS = within(-(2**31), 2**31 - 1)
EXPIRE = Option(
    "expire", _SECONDS, default=-1, unit="s", doc=("Time to live of written keys; values below 1 disable it.")
)
_WRITTEN: tuple[Option[Any], ...] = (KEY, DATA_TYPE, FORMAT, DELIMITER, BATCH, CUSTOM, VALUE, HASH_KEY, HASH_VALUE)
SINK_OPTIONS: tuple[Option[Any], ...] = (*SERVER, *_WRITTEN, EXPIRE)
