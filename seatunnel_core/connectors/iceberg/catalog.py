"""Properties of a pyiceberg catalog from the options of a job, and classification of its errors."""

from collections.abc import Mapping
from typing import Any

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.iceberg import options as opt
from seatunnel_storage_api.secret import shown

_TYPES = ("rest", "hive", "glue", "sql", "dynamodb", "bigquery", "in-memory")

_JAVA_CATALOGS = {
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog": "dynamodb",
}
"""Values of ``catalog-impl`` in job files for Java SeaTunnel, and the corresponding pyiceberg types."""

_JAVA_ONLY = ("catalog-impl", "io-impl", "clients", "cache-enabled", "s3.path-style-access")

_FILES = {"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
"""pyiceberg's only FileIO that can list a folder, which cleanups require."""


def catalog_properties(options: Options) -> dict[str, str]:
    """Return the properties for ``pyiceberg.catalog.load_catalog``."""
    given: dict[str, str] = dict(options[opt.CATALOG] or {})
    for key, option in (("type", opt.CATALOG_TYPE), ("uri", opt.URI), ("warehouse", opt.WAREHOUSE)):
        if options[option] is not None:
            given.setdefault(key, options[option])
    if not given:
        raise UsageError(
            "option 'iceberg.catalog.config' is missing; set it to the catalog of the table, such as { type = rest, "
            'uri = "http://catalog:8181", warehouse = "s3://bucket/warehouse" }'
        )
    java = given.get("catalog-impl")
    kind = given.pop("type", "").lower() or _JAVA_CATALOGS.get(java or "", "")
    if kind == "hadoop":
        raise UsageError(
            "option 'iceberg.catalog.config': catalogs of type hadoop are not supported, because a folder alone "
            "cannot isolate concurrent writers; register the table in another catalog, such as { type = sql, "
            'uri = "sqlite:////data/catalog.db", warehouse = "file:///data/warehouse" }'
        )
    if kind not in _TYPES:
        raise UsageError(
            f"option 'iceberg.catalog.config': type: expected one of {', '.join(_TYPES)}, found "
            f"{kind or java or 'none'!r}"
        )
    if "s3.path-style-access" in given:
        flat = given["s3.path-style-access"].lower() == "true"
        given.setdefault("s3.force-virtual-addressing", "false" if flat else "true")
    kept = {key: value for key, value in given.items() if key not in _JAVA_ONLY}
    return {**kept, **_FILES, "type": kind}


def located(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that identify a catalog, keyed by option name. They contain no secrets."""
    named = {key: properties[key] for key in ("type", "uri", "warehouse") if key in properties}
    return {f"{opt.CATALOG.key}.{key}": shown(key, value) for key, value in named.items()}


_LASTING = (
    *("access_denied", "access denied", "invalid_access_key_id", "signature_does_not_match", "http status 401"),
    *("http status 403", "authentication failed", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "readonly database"),
)
"""Lower-case messages of permanent errors that have no exception class: failed logins and missing permissions."""


def may_pass(error: BaseException) -> bool:
    """Return True if a retry may help, for example after a network, lock or server error."""
    if any(words in str(error).lower() for words in _LASTING):
        return False
    if isinstance(error, OSError):  # Includes the errors of requests.
        return not isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError)
    return type(error).__name__ in {
        "CommitFailedException",
        "CommitStateUnknownException",
        "IntegrityError",  # SQLAlchemy's error: another process has just inserted the same row.
        "OperationalError",  # The database is locked or unreachable.
        "ServerError",
        "ServiceUnavailableError",
        "TooManyRequestsError",
        "WaitingForLockException",
    }


def without_retries(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return table properties that disable pyiceberg's retries; before a retry, the sink checks for newer engines."""
    return {**properties, "commit.retry.num-retries": "0"}
