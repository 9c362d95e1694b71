"""Properties of PostgreSQL's JDBC driver and of libpq."""

from seatunnel_core.connectors.jdbc.databases.properties import KnownProperties

LIBPQ = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "gssEncMode": "gssencmode",
    "kerberosServerName": "krbsrvname",
    "channelBinding": "channel_binding",
    "requireAuth": "require_auth",
    "sslNegotiation": "sslnegotiation",
}
"""Mapping from properties of the JDBC driver to their names in libpq."""

ROLES = {
    **dict.fromkeys(("any", "preferprimary"), "any"),
    **dict.fromkeys(("primary", "master"), "primary"),
    **dict.fromkeys(("secondary", "slave"), "standby"),
    **dict.fromkeys(("prefersecondary", "preferslave"), "prefer-standby"),
}
"""Mapping from the value of ``targetServerType`` in lower case to libpq's ``target_session_attrs``."""

TRANSLATED = frozenset({"currentSchema", "options", "ssl", "targetServerType", "socketTimeout", *LIBPQ})
"""Properties that are not passed to libpq under the same name."""

_OF_LIBPQ = frozenset(
    [
        *("application_name", "fallback_application_name", "connect_timeout", "channel_binding", "require_auth"),
        *("gssencmode", "gsslib", "gssdelegation", "krbsrvname", "hostaddr", "passfile", "service", "requirepeer"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"),
        *("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl", "sslcrldir", "sslsni", "sslcertmode"),
        *("sslnegotiation", "sslcompression", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("target_session_attrs", "load_balance_hosts"),
    ]
)

_IDLE = frozenset(
    [
        *("adaptiveFetch", "adaptiveFetchMaximum", "adaptiveFetchMinimum", "allowEncodingChanges", "autosave"),
        *("assumeMinServerVersion", "binaryTransfer", "binaryTransferDisable", "binaryTransferEnable"),
        *("cancelSignalTimeout", "cleanupSavepoints", "databaseMetadataCacheFields", "databaseMetadataCacheFieldsMiB"),
        *("defaultRowFetchSize", "disableColumnSanitiser", "escapeSyntaxCallMode", "groupStartupParameters"),
        *("gssResponseTimeout", "gssUseDefaultCreds", "hideUnprivilegedObjects", "hostRecheckSeconds"),
        *("jaasApplicationName", "jaasLogin", "loadBalanceHosts", "loggerFile", "loggerLevel", "logServerErrorDetail"),
        *("logUnclosedConnections", "maxResultBuffer", "maxSendBufferSize", "preferQueryMode", "prepareThreshold"),
        *("preparedStatementCacheQueries", "preparedStatementCacheSizeMiB", "protocolVersion", "queryTimeout"),
        *("quoteReturningIdentifiers", "readOnlyMode", "receiveBufferSize", "reWriteBatchedInserts", "sendBufferSize"),
        *("socketFactory", "socketFactoryArg", "sslResponseTimeout", "sspiServiceClass", "stringtype", "tcpKeepAlive"),
        *("tcpNoDelay", "unknownLength", "useSpnego", "xmlFactoryFactory"),
        # Properties of MySQL's drivers, which PostgreSQL's ignores too.
        *("characterEncoding", "rewriteBatchedStatements", "serverTimezone", "useSSL", "useUnicode"),
        *("zeroDateTimeBehavior", "allowMultiQueries", "autoReconnect"),
    ]
)

_CERTIFICATES = "set sslmode=verify-full, and set sslrootcert to a PEM file (exported with keytool -exportcert -rfc)"

PROPERTIES = KnownProperties(
    database="PostgreSQL",
    honoured=_OF_LIBPQ | TRANSLATED,
    idle=_IDLE,
    as_by_default={
        "readOnly": "false",
        "client_encoding": "UTF8",
        "replication": "false",
        "sslfactory": "org.postgresql.ssl.LibPQFactory",
    },
    instead={
        "readOnly": "set options=-c default_transaction_read_only=on",
        "client_encoding": "strings are sent as UTF-8, and the server converts them to the encoding of the database",
        "replication": "use a source for changes, such as Kafka with Debezium; Jdbc reads only tables",
        "sslfactory": (
            "set sslmode=require to encrypt without verifying the certificate, as NonValidatingFactory does; to verify "
            "it, set sslmode=verify-full, and set sslrootcert to a PEM file"
        ),
        "sslfactoryarg": _CERTIFICATES,
        "sslhostnameverifier": "set sslmode=verify-ca to check the certificate but not the host name",
        "sslpasswordcallback": "write sslpassword",
        "authenticationPluginClassName": "set the option password, or the property passfile",
        "localSocketAddress": "the operating system chooses the local address; configure a route instead",
        "defaultTransactionIsolation": "set options=-c default_transaction_isolation=serializable, for example",
        "host": "set the host in url",
        "port": "set the port in url",
        "dbname": "set the database in url",
    },
    numbers=frozenset(
        [
            *("connectTimeout", "loginTimeout", "connect_timeout", "socketTimeout", "tcp_user_timeout"),
            *("keepalives_idle", "keepalives_interval", "keepalives_count"),
        ]
    ),
    words={"targetServerType": ROLES},
    unknown="For a server setting, use options=-c {}=…",
)
