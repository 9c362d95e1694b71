"""The options of the source and of the sink ``Kafka``, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, LONG, MAP, NESTED, SCHEMA, STRING, Option, within
from seatunnel_core.connector_api.several_tables import tables_option
from seatunnel_core.connectors.schema_options import INFERENCE

_NOT_PROTOBUF = "protobuf is not read or written here"

SERVERS = Option(
    "bootstrap.servers",
    STRING,
    required=True,
    unless=("tables_configs",),
    doc="The brokers to begin with, host:port with commas.",
)
CONFIG = Option(
    "kafka.config",
    MAP,
    secret=True,
    doc="More of the client, with the names of librdkafka or of Kafka's client in Java, as far as both have the same.",
)
FORMAT = Option(
    "format",
    ENUM(
        "json",
        "text",
        "avro",
        "canal_json",
        "debezium_json",
        "maxwell_json",
        "ogg_json",
        "canal-json",
        "debezium-json",
        "maxwell-json",
        "ogg-json",
        "protobuf",
        "native",
        "compatible_debezium_json",
        "compatible_kafka_connect_json",
    ),
    default="json",
    doc="What a message is. canal_json, debezium_json, maxwell_json and ogg_json are streams of changes. The last four "
    "are refused.",
)
DELIMITER = Option("field_delimiter", STRING, default=",", doc="What stands between the fields of text.")
NULL_FORMAT = Option(
    "null_format",
    STRING,
    doc="A text that means null in messages of text, such as \\N. Without it null is written as the empty text.",
)
EMPTY_VALUE = Option(
    "empty_value",
    ENUM("NULL", "TEXT"),
    default="NULL",
    doc="What an empty field of text is in a column of texts: null, as with SeaTunnel, or the empty text.",
)
PROTOBUF = (
    Option("protobuf_message_name", STRING, no_effect=_NOT_PROTOBUF, doc="Of protobuf."),
    Option("protobuf_schema", STRING, no_effect=_NOT_PROTOBUF, doc="Of protobuf."),
)

TOPIC = Option(
    "topic",
    STRING,
    required=True,
    unless=("tables_configs",),
    doc="The topics, with commas; with pattern a regular expression that matches their whole names.",
)
PATTERN = Option("pattern", BOOLEAN, default=False, doc="Whether topic is a regular expression.")
GROUP = Option(
    "consumer.group",
    STRING,
    default="SeaTunnel-Consumer-Group",
    doc="Whose offsets group_offsets begins at, and commit_on_checkpoint moves. Partitions are not shared out by it.",
)
COMMIT = Option(
    "commit_on_checkpoint",
    BOOLEAN,
    default=True,
    doc="Move the offsets of consumer.group when all rows of a checkpoint are published, no further than those. The "
    "job itself goes on from its checkpoints; the next job of the group, from there.",
)
POLL = Option(
    "poll.timeout",
    within(1, 3_600_000),
    default=10_000,
    unit="ms",
    doc="How long a task waits for the next message of its range before it fails and is tried again.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc="The columns of the messages. Without it json and text give one column, content; with schema_sample those of "
    "json are inferred.",
)
START = Option(
    "start_mode",
    ENUM("earliest", "group_offsets", "latest", "timestamp", "specific_offsets"),
    default="group_offsets",
    doc="Where to begin in each partition. Where the group has no offset, as auto.offset.reset in kafka.config says, "
    "else at the earliest.",
)
START_TIMESTAMP = Option("start_mode.timestamp", LONG, unit="ms since 1970", doc="Where timestamp begins.")
END_TIMESTAMP = Option(
    "start_mode.end_timestamp",
    LONG,
    unit="ms since 1970",
    doc="Where timestamp ends, in a batch job: before the first message that is as late.",
)
START_OFFSETS = Option(
    "start_mode.offsets", MAP, doc='Where specific_offsets begins: { "topic-0" = 50 } for partition 0, all of them.'
)
DISCOVERY = Option(
    "partition-discovery.interval-millis",
    LONG,
    default=-1,
    unit="ms",
    doc="How often a streaming job looks for new partitions and topics, which are read from their beginning; not at "
    "all when it is below 1.",
)
INCLUDES_SCHEMA = Option(
    "debezium_record_include_schema",
    BOOLEAN,
    default=True,
    doc="Whether messages of Debezium are { schema, payload }. One without that is understood, too.",
)
TABLE_FILTER = Option(
    "debezium_record_table_filter",
    NESTED,
    doc="Of which table messages of Debezium are taken: database_name, schema_name, table_name. Others are left out.",
)
NO_LEADER = Option(
    "ignore_no_leader_partition",
    BOOLEAN,
    default=False,
    doc="Leave out partitions that have no leader when the job begins, with a warning. Otherwise that is an error.",
)
ROW_ERRORS = Option(
    "row_error_handle_way",
    ENUM("FAIL", "SKIP"),
    default="FAIL",
    aliases=("format_error_handle_way",),
    doc="What happens with a message that cannot be read: the pipeline fails, or it is counted and left out.",
)

_OF_A_TABLE: tuple[Option[Any], ...] = (
    TOPIC,
    PATTERN,
    GROUP,
    COMMIT,
    POLL,
    SCHEMA_BLOCK,
    *INFERENCE,
    FORMAT,
    DELIMITER,
    NULL_FORMAT,
    EMPTY_VALUE,
    START,
    START_TIMESTAMP,
    END_TIMESTAMP,
    START_OFFSETS,
    DISCOVERY,
    INCLUDES_SCHEMA,
    TABLE_FILTER,
    NO_LEADER,
    *PROTOBUF,
    Option("strip_schema_registry_header", BOOLEAN, default=False, no_effect=_NOT_PROTOBUF, doc="Of protobuf."),
    Option("is_native", BOOLEAN, default=False, no_effect="native is not read here", doc="Of the format native."),
    Option(
        "reader_cache_queue_size",
        within(1, 2**31 - 1),
        default=1024,
        no_effect="splits are handed out by the engine",
        doc="Of SeaTunnel's readers.",
    ),
)
_IN_AN_ENTRY: tuple[Option[Any], ...] = (
    evolve(SERVERS, required=False, unless=()),
    CONFIG,
    evolve(TOPIC, unless=()),
    *_OF_A_TABLE[1:],
)
SOURCE_OPTIONS: tuple[Option[Any], ...] = (SERVERS, CONFIG, *_OF_A_TABLE, tables_option(_IN_AN_ENTRY), ROW_ERRORS)

SINK_TOPIC = Option(
    "topic",
    STRING,
    required=True,
    doc="The topic, or ${column} for the topics that this column of the rows names. It has to be there.",
)
SEMANTICS = Option(
    "semantics",
    ENUM("NON", "AT_LEAST_ONCE", "EXACTLY_ONCE"),
    default="NON",
    doc="EXACTLY_ONCE stages rows, and sends them in transactions when their checkpoint is complete. The other two "
    "send at once; NON waits for the brokers, too.",
)
STAGING_PATH = Option(
    "staging_path",
    STRING,
    doc="With EXACTLY_ONCE: a folder that all workers share with the driver, in which rows wait for their checkpoint. "
    "It has to outlive a crash of the machine.",
)
KEY_FIELDS: Option[tuple[str, ...]] = Option(
    "partition_key_fields", LIST(), doc='The columns of the message\'s key, which is JSON: { "name": "Jack" }.'
)
PARTITION = Option("partition", within(0, 2**31 - 1), doc="The partition of all messages.")
ASSIGN: Option[tuple[str, ...]] = Option(
    "assign_partitions",
    LIST(),
    doc="Texts: a message that contains the first goes into partition 0, and so on; all others are spread over the "
    "partitions that are left.",
)
PREFIX = Option(
    "transaction_prefix",
    STRING,
    default="seatunnel",
    doc="What the names of transactions begin with, and of the topic that records what was sent.",
)
SINK_OPTIONS: tuple[Option[Any], ...] = (
    evolve(SERVERS, unless=()),
    CONFIG,
    SINK_TOPIC,
    FORMAT,
    DELIMITER,
    NULL_FORMAT,
    SEMANTICS,
    STAGING_PATH,
    KEY_FIELDS,
    PARTITION,
    ASSIGN,
    PREFIX,
    *PROTOBUF,
)
REFUSED = {"protobuf", "native", "compatible_debezium_json", "compatible_kafka_connect_json"}
