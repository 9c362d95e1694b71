"""The options of the ``Kafka`` source and sink, with SeaTunnel's names."""

from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, LONG, MAP, SCHEMA, STRING, Option, within
from seatunnel_core.connector_api.several_tables import tables_option
from seatunnel_core.connectors.messages import options as formats
from seatunnel_core.connectors.schema_options import INFERENCE

_NOT_PROTOBUF = "the protobuf format is not supported"

SERVERS = Option(
    "bootstrap.servers",
    STRING,
    required=True,
    unless=("tables_configs",),
    doc="Brokers for the initial connection: a comma-separated list of host:port.",
)
CONFIG = Option(
    "kafka.config",
    MAP,
    secret=True,
    doc=(
        "Additional client properties, by their librdkafka names; names of Kafka's Java client work if librdkafka has "
        "an equivalent property."
    ),
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
    doc="Format of a message. canal_json, debezium_json, maxwell_json and ogg_json are change streams. The last "
    "four values are rejected, with one exception: a sink accepts compatible_debezium_json for rows with "
    "exactly the string columns topic, key and value, with topic = ${topic}.",
)
PROTOBUF = (
    Option("protobuf_message_name", STRING, no_effect=_NOT_PROTOBUF, doc="For the protobuf format."),
    Option("protobuf_schema", STRING, no_effect=_NOT_PROTOBUF, doc="For the protobuf format."),
)

TOPIC = Option(
    "topic",
    STRING,
    required=True,
    unless=("tables_configs",),
    doc="Topics, separated by commas; if pattern is true, a regular expression that matches whole names.",
)
PATTERN = Option("pattern", BOOLEAN, default=False, doc="True if topic is a regular expression.")
GROUP = Option(
    "consumer.group",
    STRING,
    default="SeaTunnel-Consumer-Group",
    doc=(
        "Consumer group. group_offsets starts at its committed offsets, and commit_on_checkpoint commits offsets to "
        "it. The group does not assign partitions."
    ),
)
COMMIT = Option(
    "commit_on_checkpoint",
    BOOLEAN,
    default=True,
    doc="True to commit the offsets of consumer.group, up to the rows that a checkpoint has published. The job "
    "itself resumes from its checkpoints; the next job of the group starts from these offsets.",
)
POLL = Option(
    "poll.timeout",
    within(1, 3_600_000),
    default=10_000,
    unit="ms",
    doc="Maximum time for which a task waits for the next message of its range. Then the task fails and is retried.",
)
SCHEMA_BLOCK = Option(
    "schema",
    SCHEMA,
    doc=(
        "Columns of the messages. If unset, json and text give one column, content; schema_sample infers the columns "
        "of json."
    ),
)
START = Option(
    "start_mode",
    ENUM("earliest", "group_offsets", "latest", "timestamp", "specific_offsets"),
    default="group_offsets",
    doc=(
        "Start position in each partition. For a partition without a committed offset, auto.offset.reset in "
        "kafka.config decides; by default the earliest offset."
    ),
)
START_TIMESTAMP = Option(
    "start_mode.timestamp", LONG, unit="ms since 1970", doc="Start time for start_mode = timestamp."
)
END_TIMESTAMP = Option(
    "start_mode.end_timestamp",
    LONG,
    unit="ms since 1970",
    doc="End time for start_mode = timestamp in a batch job: reading stops before the first message at or after it.",
)
START_OFFSETS = Option(
    "start_mode.offsets",
    MAP,
    doc='Start offsets of all partitions for start_mode = specific_offsets: { "topic-0" = 50 } for partition 0.',
)
DISCOVERY = Option(
    "partition-discovery.interval-millis",
    LONG,
    default=-1,
    unit="ms",
    doc=(
        "Interval at which a streaming job checks for new partitions and topics, which are read from the beginning. "
        "Values below 1 disable the check."
    ),
)
NO_LEADER = Option(
    "ignore_no_leader_partition",
    BOOLEAN,
    default=False,
    doc=(
        "True to skip partitions without a leader when the job starts, with a warning. If false, such partitions are "
        "an error."
    ),
)


ROW_ERRORS = evolve(formats.ROW_ERRORS, aliases=("format_error_handle_way",))

_OF_A_TABLE: tuple[Option[Any], ...] = (
    TOPIC,
    PATTERN,
    GROUP,
    COMMIT,
    POLL,
    SCHEMA_BLOCK,
    *INFERENCE,
    FORMAT,
    formats.DELIMITER,
    formats.NULL_FORMAT,
    formats.EMPTY_VALUE,
    START,
    START_TIMESTAMP,
    END_TIMESTAMP,
    START_OFFSETS,
    DISCOVERY,
    formats.INCLUDES_SCHEMA,
    formats.TABLE_FILTER,
    NO_LEADER,
    *PROTOBUF,
    Option(
        "strip_schema_registry_header", BOOLEAN, default=False, no_effect=_NOT_PROTOBUF, doc="For the protobuf format."
    ),
    Option(
        "is_native",
        BOOLEAN,
        default=False,
        no_effect="the format native is not supported",
        doc="Option of SeaTunnel's native format.",
    ),
    Option(
        "reader_cache_queue_size",
        within(1, 2**31 - 1),
        default=1024,
        no_effect="the engine assigns splits",
        doc="Option of SeaTunnel's readers.",
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
    names_columns=True,
    doc="Topic, or ${column} for a column that contains the topic. Topics must exist.",
)
SEMANTICS = Option(
    "semantics",
    ENUM("NON", "AT_LEAST_ONCE", "EXACTLY_ONCE"),
    default="NON",
    doc=(
        "EXACTLY_ONCE stages rows and sends them in transactions when their checkpoint completes. The other modes send "
        "rows immediately; NON also waits for acknowledgements."
    ),
)
STAGING_PATH = Option(
    "staging_path",
    STRING,
    doc="With EXACTLY_ONCE: a folder, shared by all workers and the driver, for rows that wait for their "
    "checkpoint. It must survive a crash of the machine.",
)
KEY_FIELDS: Option[tuple[str, ...]] = Option(
    "partition_key_fields", LIST(), doc='Columns of the message key, which is JSON: { "name": "Jack" }.'
)
PARTITION = Option("partition", within(0, 2**31 - 1), doc="Partition of all messages.")
ASSIGN: Option[tuple[str, ...]] = Option(
    "assign_partitions",
    LIST(),
    doc=(
        "Strings that select partitions: messages that contain the first string go to partition 0, the second to "
        "partition 1, and so on. Other messages are distributed over the remaining partitions."
    ),
)
PREFIX = Option(
    "transaction_prefix",
    STRING,
    default="seatunnel",
    doc="Prefix of the names of transactions and of the topic that records sent messages.",
)
SINK_OPTIONS: tuple[Option[Any], ...] = (
    evolve(SERVERS, unless=()),
    CONFIG,
    SINK_TOPIC,
    FORMAT,
    formats.DELIMITER,
    formats.NULL_FORMAT,
    SEMANTICS,
    STAGING_PATH,
    KEY_FIELDS,
    PARTITION,
    ASSIGN,
    PREFIX,
    *PROTOBUF,
)
REFUSED = {"protobuf", "native", "compatible_debezium_json", "compatible_kafka_connect_json"}
