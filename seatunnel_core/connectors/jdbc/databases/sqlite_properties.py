"""Properties of SQLite's JDBC driver, many of which are pragmas."""

from seatunnel_core.connectors.jdbc.databases.properties import KnownProperties

_TRUTH = ("true", "false", "on", "off", "yes", "no", "1", "0")
_WORDS = {
    **dict.fromkeys(("case_sensitive_like", "defer_foreign_keys", "foreign_keys", "ignore_check_constraints"), _TRUTH),
    **dict.fromkeys(("read_uncommitted", "recursive_triggers"), _TRUTH),
    "journal_mode": ("delete", "truncate", "persist", "memory", "wal", "off"),
    "secure_delete": (*_TRUTH, "fast"),
    "synchronous": ("off", "normal", "full", "extra", "0", "1", "2", "3"),
    "temp_store": ("default", "file", "memory", "0", "1", "2"),
}
_NUMBERS = frozenset({"busy_timeout", "journal_size_limit", "max_page_count", "mmap_size", "page_size"})
_PRAGMAS = _NUMBERS | _WORDS.keys()

_DATES = "dates and times are written as text; write strftime('%s', column) in query for numbers"

PROPERTIES = KnownProperties(
    database="SQLite",
    honoured=_PRAGMAS,
    idle=frozenset(
        (
            *("cache", "cache_size", "count_changes", "default_cache_size", "empty_result_callbacks"),
            *("full_column_names", "fullsync", "jdbc.explicit_readonly", "jdbc.get_generated_keys"),
            *("legacy_alter_table", "legacy_file_format", "shared_cache", "short_column_names"),
            *("transaction_mode", "vdbe_listing"),
        )
    ),
    as_by_default={
        "date_class": "TEXT",
        "date_string_format": "yyyy-MM-dd HH:mm:ss.SSS",
        "date_precision": "MILLISECONDS",
        "enable_load_extension": "false",
        "encoding": "UTF-8",
        "locking_mode": "NORMAL",
        "open_mode": "6",
    },
    instead={
        "date_class": _DATES,
        "date_string_format": "write strftime('%d.%m.%Y', column) in query, or DATE_FORMAT in the Sql transform",
        "date_precision": _DATES,
        "enable_load_extension": "extensions are not loaded; call their functions in the Python transform",
        "encoding": "create the database with PRAGMA encoding before the job runs; the encoding is permanent",
        "locking_mode": "the tasks and the driver share the file, so its locking mode is always NORMAL",
        "open_mode": "a source never writes; a sink opens the file for writing",
        "hexkey_mode": "encrypted files cannot be opened; decrypt a copy before the job runs",
        "key": "encrypted files cannot be opened; decrypt a copy before the job runs",
        "incremental_vacuum": "run VACUUM after the job",
        "application_id": "run PRAGMA application_id before the job",
        "user_version": "run PRAGMA user_version before the job",
        "temp_store_directory": "set the environment variable SQLITE_TMPDIR",
        "reverse_unordered_selects": "write ORDER BY in query",
    },
    numbers=_NUMBERS,
    words=_WORDS,
    unknown="Pragmas allowed in a URL are " + ", ".join(sorted(_PRAGMAS)),
)


def pragmas(properties: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the PRAGMA statements for the properties that are pragmas."""
    return [f"PRAGMA {name} = {value.strip()}" for name, value in properties if name in _PRAGMAS]
