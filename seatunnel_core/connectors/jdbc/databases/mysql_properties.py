"""Properties of Connector/J and of MariaDB's driver: those that change nothing here, and what to write for others."""

from collections.abc import Iterable

from seatunnel_core.config.problem import nearest
from seatunnel_core.errors import UsageError

HONOURED = (
    *("connectionTimeZone", "serverTimezone", "timezone", "sessionVariables", "connectTimeout", "socketTimeout"),
    *("zeroDateTimeBehavior", "sslMode", "useSSL", "requireSSL", "ssl_ca", "ssl_cert", "ssl_key"),
)

_IDLE = frozenset(
    [
        "allowLoadLocalInfile",
        "allowMultiQueries",
        "allowNanAndInf",
        "allowPublicKeyRetrieval",
        "allowUrlInLocalInfile",
        "authenticationPlugins",
        "autoReconnect",
        "autoReconnectForPools",
        "cacheCallableStmts",
        "cachePrepStmts",
        "cacheResultSetMetadata",
        "cacheServerConfiguration",
        "callableStmtCacheSize",
        "characterEncoding",
        "characterSetResults",
        "connectionAttributes",
        "defaultAuthenticationPlugin",
        "defaultFetchSize",
        "detectCustomCollations",
        "dontTrackOpenResources",
        "elideSetAutoCommits",
        "enablePacketDebug",
        "enableQueryTimeouts",
        "failOverReadOnly",
        "functionsNeverReturnBlobs",
        "gatherPerfMetrics",
        "holdResultsOpenOverStatementClose",
        "includeInnodbStatusInDeadlockExceptions",
        "includeThreadDumpInDeadlockExceptions",
        "initialTimeout",
        "interactiveClient",
        "largeRowSizeThreshold",
        "logger",
        "logSlowQueries",
        "maintainTimeStats",
        "maxAllowedPacket",
        "maxQuerySizeToLog",
        "maxReconnects",
        "metadataCacheSize",
        "netTimeoutForStreamingResults",
        "noAccessToProcedureBodies",
        "nullCatalogMeansCurrent",
        "nullDatabaseMeansCurrent",
        "packetDebugBufferSize",
        "paranoid",
        "permitMysqlScheme",
        "pinGlobalTxToPhysicalConnection",
        "prepStmtCacheSize",
        "prepStmtCacheSqlLimit",
        "profileSQL",
        "queriesBeforeRetryMaster",
        "queryTimeoutKillsConnection",
        "quoteIdentifiers",
        "reconnectAtTxEnd",
        "remarks",
        "rewriteBatchedStatements",
        "secondsBeforeRetryMaster",
        "slowQueryThresholdMillis",
        "tcpKeepAlive",
        "tcpNoDelay",
        "tcpRcvBuf",
        "tcpSndBuf",
        "tcpTrafficClass",
        "trackSessionState",
        "tracePerf",
        "useAffectedRows",
        "useBatchMultiSend",
        "useBulkStmts",
        "useColumnNamesInFindColumn",
        "useCompression",
        "useCursorFetch",
        "useDynamicCharsetInfo",
        "useHostsInPrivileges",
        "useInformationSchema",
        "useJDBCCompliantTimezoneShift",
        "useLegacyDatetimeCode",
        "useLocalSessionState",
        "useLocalTransactionState",
        "useMysqlMetadata",
        "useNanosForElapsedTime",
        "useOldAliasMetadataBehavior",
        "useOnlyServerErrorMessages",
        "useReadAheadInput",
        "useServerPrepStmts",
        "useSSPSCompatibleTimezoneShift",
        "useStreamLengthsInPrepStmts",
        "useUnbufferedInput",
        "useUnicode",
        "useUsageAdvisor",
    ]
)
"""Properties that change how a Java driver works, and no value and no guarantee here."""

_AS_BY_DEFAULT = {
    "tinyInt1isBit": "true",
    "transformedBitIsBoolean": "false",
    "jdbcCompliantTruncation": "true",
    "noDatetimeStringSync": "false",
    "blobsAreStrings": "false",
    "emptyStringsConvertToZero": "true",
    "preserveInstants": "true",
    "createDatabaseIfNotExist": "false",
    "verifyServerCertificate": "false",
    "trustServerCertificate": "true",
    "forceConnectionTimeZoneToSession": "true",
    "yearIsDateType": "false",
    "treatUtilDateAsTimestamp": "true",
    "sendFractionalSeconds": "true",
    "readOnly": "false",
    "allowSlaveDownConnection": "false",
}
"""Values that say what holds here anyway."""

_INSTEAD = {
    "tinyInt1isBit": "write the option int_type_narrowing = false: tinyint(1) is a number then",
    "transformedBitIsBoolean": "write the option int_type_narrowing = true: tinyint(1) is a boolean then",
    "yearIsDateType": 'a YEAR is a number here; write query = "SELECT MAKEDATE(column, 1) …" for a date',
    "jdbcCompliantTruncation": "a value that does not fit is an error here; shorten it in query, or in a transform Sql",
    "noDatetimeStringSync": "write CAST(column AS CHAR) in query for the text of a date",
    "blobsAreStrings": "write CONVERT(column USING utf8mb4) in query for the text of a blob",
    "emptyStringsConvertToZero": "write NULLIF(column, '') in query",
    "preserveInstants": "write connectionTimeZone with the zone in which the values are stored",
    "forceConnectionTimeZoneToSession": "write connectionTimeZone with the zone of the session",
    "connectionCollation": "write sessionVariables=collation_connection=NAME",
    "initSQL": "write sessionVariables=NAME=VALUE for variables of the session",
    "createDatabaseIfNotExist": "create the database before the job runs",
    "verifyServerCertificate": "write sslMode=VERIFY_CA, and ssl_ca with a file in PEM",
    "trustServerCertificate": "write sslMode=VERIFY_IDENTITY, and ssl_ca with a file in PEM",
    "disableSslHostnameVerification": "write sslMode=VERIFY_CA",
    "trustCertificateKeyStoreUrl": "write ssl_ca with a file in PEM (keytool -exportcert -rfc)",
    "trustStore": "write ssl_ca with a file in PEM (keytool -exportcert -rfc)",
    "serverSslCert": "write sslMode=VERIFY_CA and ssl_ca with a file in PEM",
    "clientCertificateKeyStoreUrl": "write ssl_cert and ssl_key with files in PEM (openssl pkcs12)",
    "keyStore": "write ssl_cert and ssl_key with files in PEM (openssl pkcs12)",
    "user": "write the option user",
    "password": "write the option password",
    "databaseTerm": 'write table_path = "database.table"',
    "sendFractionalSeconds": "round the timestamps in a transform Sql",
    "readOnly": "use a user that may only read",
    "maxRows": "write LIMIT in query",
    "defaultTransactionIsolation": "leave it out: the isolation is READ COMMITTED, and cannot be changed",
}


def require_known(properties: Iterable[tuple[str, str]]) -> None:
    """Check that each property is honoured, or changes nothing here.

    Raises:
        UsageError: some are not; the message lists all of them, each with what to write instead.
    """
    wrong = [
        _answer(name, value)
        for name, value in properties
        if name not in HONOURED
        and name not in _IDLE
        and _AS_BY_DEFAULT.get(name, "").lower() != (value.lower() or "\0")
    ]
    if wrong:
        raise UsageError(f"option 'properties' or 'url': {'; '.join(wrong)}")


def _answer(name: str, value: str) -> str:
    if name in _INSTEAD:
        shown = f"{name} = {value}" if name in _AS_BY_DEFAULT else name
        return f"{shown} has another name here: {_INSTEAD[name]}"
    close = nearest(name, (*HONOURED, *_INSTEAD, *_AS_BY_DEFAULT, *_IDLE))
    if close is not None:
        return f"{name} is not known for MySQL. Did you mean {close}?"
    return f"{name} is not known for MySQL. For a variable of the server write sessionVariables={name}=…"
