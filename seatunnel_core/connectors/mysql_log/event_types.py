"""Type codes of log events, grouped by how the decoder handles them."""

QUERY, STOP, ROTATE, INTVAR, SLAVE_EVENT, APPEND_BLOCK, DELETE_FILE = 2, 3, 4, 5, 7, 9, 11
RAND, USER_VAR, FORMAT_DESCRIPTION, XID, BEGIN_LOAD_QUERY, EXECUTE_LOAD_QUERY, TABLE_MAP = 13, 14, 15, 16, 17, 18, 19
WRITE_ROWS_V1, UPDATE_ROWS_V1, DELETE_ROWS_V1, INCIDENT, HEARTBEAT, IGNORABLE, ROWS_QUERY = 23, 24, 25, 26, 27, 28, 29
WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS, GTID, ANONYMOUS_GTID, PREVIOUS_GTIDS = 30, 31, 32, 33, 34, 35
TRANSACTION_CONTEXT, VIEW_CHANGE, XA_PREPARE, PARTIAL_UPDATE_ROWS, TRANSACTION_PAYLOAD = 36, 37, 38, 39, 40
HEARTBEAT_V2, TAGGED_GTID = 41, 42
ANNOTATE_ROWS, BINLOG_CHECKPOINT, MARIA_GTID, MARIA_GTID_LIST, START_ENCRYPTION = 160, 161, 162, 163, 164
QUERY_COMPRESSED, WRITE_ROWS_COMPRESSED_V1, UPDATE_ROWS_COMPRESSED_V1, DELETE_ROWS_COMPRESSED_V1 = 165, 166, 167, 168
WRITE_ROWS_COMPRESSED, UPDATE_ROWS_COMPRESSED, DELETE_ROWS_COMPRESSED = 169, 170, 171

INSERTS = (WRITE_ROWS, WRITE_ROWS_V1, WRITE_ROWS_COMPRESSED, WRITE_ROWS_COMPRESSED_V1)
UPDATES = (UPDATE_ROWS, UPDATE_ROWS_V1, UPDATE_ROWS_COMPRESSED, UPDATE_ROWS_COMPRESSED_V1, PARTIAL_UPDATE_ROWS)
DELETES = (DELETE_ROWS, DELETE_ROWS_V1, DELETE_ROWS_COMPRESSED, DELETE_ROWS_COMPRESSED_V1)

WITH_EXTRA_DATA = (WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS, PARTIAL_UPDATE_ROWS, *range(169, 172))
"""Row events that have extra data after their flags."""

COMPRESSED_ROWS = tuple(range(166, 172))

WITHOUT_ROWS = (
    *(INTVAR, SLAVE_EVENT, APPEND_BLOCK, DELETE_FILE, RAND, USER_VAR, BEGIN_LOAD_QUERY, IGNORABLE, ROWS_QUERY),
    *(PREVIOUS_GTIDS, TRANSACTION_CONTEXT, VIEW_CHANGE, ANNOTATE_ROWS, BINLOG_CHECKPOINT, MARIA_GTID_LIST),
)
"""Events that change no rows. Those that set the context of the next statement must still be processed."""

IGNORABLE_FLAG = 0x80
"""Flag of events that a reader may ignore if it does not know their type."""

NAMES = {
    0: "unknown",
    1: "start v3",
    6: "load",
    8: "create file",
    10: "exec load",
    12: "new load",
    20: "write rows v0",
    21: "update rows v0",
    22: "delete rows v0",
    INCIDENT: "incident",
    START_ENCRYPTION: "start encryption",
}
"""Names of unsupported events."""


def name_of(kind: int) -> str:
    """Return the name of an event type, for messages."""
    known = {code: name for name, code in globals().items() if isinstance(code, int) and name.isupper()}
    return NAMES.get(kind) or known.get(kind, "unknown").lower().replace("_", " ")
