"""Properties of Connector/J and of MariaDB's driver: supported, ignored, or replaced by an option."""

from seatunnel_core.clients.jdbc.tls import TLS_PROPERTIES
from seatunnel_core.connectors.jdbc.databases.properties import KnownProperties

HONOURED = frozenset(
    [
        *("connectionTimeZone", "serverTimezone", "timezone", "sessionVariables", "connectTimeout", "socketTimeout"),
        "zeroDateTimeBehavior",
        *TLS_PROPERTIES,
    ]
)

_IDLE = frozenset(
    [
        *("allowLoadLocalInfile", "allowMultiQueries", "allowNanAndInf", "allowPublicKeyRetrieval"),
        *("allowUrlInLocalInfile", "authenticationPlugins", "autoReconnect", "autoReconnectForPools"),
        *("cacheCallableStmts", "cachePrepStmts", "cacheResultSetMetadata", "cacheServerConfiguration"),
        *("callableStmtCacheSize", "characterEncoding", "characterSetResults", "connectionAttributes"),
        *("defaultAuthenticationPlugin", "defaultFetchSize", "detectCustomCollations", "dontTrackOpenResources"),
        *("elideSetAutoCommits", "enablePacketDebug", "enableQueryTimeouts", "failOverReadOnly"),
        *("functionsNeverReturnBlobs", "gatherPerfMetrics", "holdResultsOpenOverStatementClose"),
        *("includeInnodbStatusInDeadlockExceptions", "includeThreadDumpInDeadlockExceptions", "initialTimeout"),
        *("interactiveClient", "largeRowSizeThreshold", "logger", "logSlowQueries", "maintainTimeStats"),
        *("maxAllowedPacket", "maxQuerySizeToLog", "maxReconnects", "metadataCacheSize"),
        *("netTimeoutForStreamingResults", "noAccessToProcedureBodies", "nullCatalogMeansCurrent"),
        *("nullDatabaseMeansCurrent", "packetDebugBufferSize", "paranoid", "permitMysqlScheme"),
        *("pinGlobalTxToPhysicalConnection", "prepStmtCacheSize", "prepStmtCacheSqlLimit", "profileSQL"),
        *("queriesBeforeRetryMaster", "queryTimeoutKillsConnection", "quoteIdentifiers", "reconnectAtTxEnd"),
        *("remarks", "rewriteBatchedStatements", "secondsBeforeRetryMaster", "slowQueryThresholdMillis"),
        *("tcpKeepAlive", "tcpNoDelay", "tcpRcvBuf", "tcpSndBuf", "tcpTrafficClass", "trackSessionState"),
        *("tracePerf", "useAffectedRows", "useBatchMultiSend", "useBulkStmts", "useColumnNamesInFindColumn"),
        *("useCompression", "useCursorFetch", "useDynamicCharsetInfo", "useHostsInPrivileges"),
        *("useInformationSchema", "useJDBCCompliantTimezoneShift", "useLegacyDatetimeCode", "useLocalSessionState"),
        *("useLocalTransactionState", "useMysqlMetadata", "useNanosForElapsedTime", "useOldAliasMetadataBehavior"),
        *("useOnlyServerErrorMessages", "useReadAheadInput", "useServerPrepStmts", "useSSPSCompatibleTimezoneShift"),
        *("useStreamLengthsInPrepStmts", "useUnbufferedInput", "useUnicode", "useUsageAdvisor"),
    ]
)
"""Properties that tune a Java driver but affect neither values nor guarantees."""

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
    "defaultTransactionIsolation": "READ_COMMITTED",
    "transactionIsolation": "READ-COMMITTED",
}
"""Property values that are accepted because they are always in effect."""

_ISOLATION = (
    "set sessionVariables=transaction_isolation='REPEATABLE-READ', for example (tx_isolation before MariaDB 11.1); "
    "the default is READ-COMMITTED"
)
_INSTEAD = {
    "tinyInt1isBit": "set the option int_type_narrowing = false to read tinyint(1) as a number",
    "transformedBitIsBoolean": "set the option int_type_narrowing = true to read tinyint(1) as a boolean",
    "yearIsDateType": 'YEAR is read as a number; write query = "SELECT MAKEDATE(column, 1) …" for a date',
    "jdbcCompliantTruncation": (
        "a value that does not fit is always an error; shorten it in query or with the Sql transform"
    ),
    "noDatetimeStringSync": "write CAST(column AS CHAR) in query to read a date as a string",
    "blobsAreStrings": "write CONVERT(column USING utf8mb4) in query to read a blob as a string",
    "emptyStringsConvertToZero": "write NULLIF(column, '') in query",
    "preserveInstants": "set connectionTimeZone to the zone in which the values are stored",
    "forceConnectionTimeZoneToSession": "set connectionTimeZone to the zone of the session",
    "connectionCollation": "set sessionVariables=collation_connection=NAME",
    "initSQL": "set sessionVariables=NAME=VALUE for variables of the session",
    "createDatabaseIfNotExist": "create the database before the job runs",
    "verifyServerCertificate": "set sslMode=VERIFY_CA, and set ssl_ca to a PEM file",
    "trustServerCertificate": "set sslMode=VERIFY_IDENTITY, and set ssl_ca to a PEM file",
    "disableSslHostnameVerification": "write sslMode=VERIFY_CA",
    "trustCertificateKeyStoreUrl": "set ssl_ca to a PEM file (exported with keytool -exportcert -rfc)",
    "trustStore": "set ssl_ca to a PEM file (exported with keytool -exportcert -rfc)",
    "serverSslCert": "set sslMode=VERIFY_CA, and set ssl_ca to a PEM file",
    "clientCertificateKeyStoreUrl": "set ssl_cert and ssl_key to PEM files (exported with openssl pkcs12)",
    "keyStore": "set ssl_cert and ssl_key to PEM files (exported with openssl pkcs12)",
    "user": "set the option user",
    "password": "set the option password",
    "databaseTerm": 'set table_path = "database.table"',
    "sendFractionalSeconds": "round the timestamps with the Sql transform",
    "readOnly": "connect as a user with read permission only",
    "maxRows": "write LIMIT in query",
    "defaultTransactionIsolation": _ISOLATION,
    "transactionIsolation": _ISOLATION,
}


PROPERTIES = KnownProperties(
    database="MySQL",
    honoured=HONOURED,
    idle=_IDLE,
    as_by_default=_AS_BY_DEFAULT,
    instead=_INSTEAD,
    numbers=frozenset({"connectTimeout", "socketTimeout"}),
    unknown="To set a server variable, use sessionVariables={}=…",
)
