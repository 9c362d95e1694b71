"""Plugins in Apache SeaTunnel's documentation that this project does not provide, with plans and workarounds."""

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

_BOTH = ("source", "sink")
_EXPORT = "export files from the other system, and read them with LocalFile"
_IMPORT = "write files with LocalFile, and load them with the other system's own tool"
_OWN = "or write a connector (`seatunnel help write-a-connector`)"

PLANNED_OPTIONS = {
    "schema-changes.": (
        "schema changes at run time are planned, but not supported yet. The columns of a table cannot change while a "
        "job runs; stop the job with a savepoint, change its file, and resume it with -r. See `seatunnel help "
        "java-parity`"
    ),
}
"""Notes on unsupported SeaTunnel options, keyed by option prefix."""


@frozen(kw_only=True)
class NotYet:
    """A SeaTunnel plugin that this version does not provide."""

    kind: str
    """``"source"``, ``"transform"`` or ``"sink"``."""

    name: str
    """Name in SeaTunnel's documentation."""

    planned: bool
    why: str
    """Category of the plugin, such as ``"change data capture"``."""

    instead: str
    """Workaround."""

    spark: str = ""
    """Spark data source format that can be used instead."""

    served_by: str = ""
    """Connector of this project that can be used instead."""

    listed: bool = True
    """True for a name in SeaTunnel's documentation; False for a common variant of one."""

    def message(self, *, with_spark: bool) -> str:
        """Return the message for the user. ``with_spark`` is True if the ``Spark`` connector is installed."""
        if self.served_by:
            return f"there is no {self.kind} {self.name!r}: {self.instead}"
        state = "is planned, but not supported yet" if self.planned else "is not supported and not planned"
        way = self.way(with_spark=with_spark)
        return (
            f"the {self.kind} {self.name!r} {state} ({self.why}). As an alternative, {way}. See `seatunnel help "
            "java-parity`"
        )

    def way(self, *, with_spark: bool) -> str:
        """Return the workaround."""
        if self.spark and with_spark:
            return f'use Spark {{ format = "{self.spark}" }} with the package that adds this format to Spark'
        return self.instead


def not_yet(kind: str, name: str) -> NotYet | None:
    """Return the entry for a name without an installed plugin. Case, ``-`` and ``_`` are ignored."""
    return _BY_NAME.get((kind, _folded(name)))


def all_of_them() -> tuple[NotYet, ...]:
    """Return the entries for all names in the documentation: planned ones first, the others in its order."""
    return tuple(sorted(filter(lambda each: each.listed, _BY_NAME.values()), key=lambda each: not each.planned))


def _folded(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _connectors(
    names: str, why: str, kinds: Iterable[str] = _BOTH, *, planned: bool = False, spark: str = "", instead: str = ""
) -> Iterator[NotYet]:
    for name in names.split():
        for kind in kinds:
            way = instead or f"{_EXPORT if kind == 'source' else _IMPORT}, {_OWN}"
            yield NotYet(kind=kind, name=name, planned=planned, why=why, instead=way, spark=spark)


def _databases(names: str, url: str) -> Iterator[NotYet]:
    for name in names.split():
        for each in _connectors(name, "databases, as configurations of Jdbc", planned=True):
            way = f'use Jdbc {{ url = "{url}" }}, which reads and writes this database'
            yield evolve(each, instead=way, served_by="Jdbc", listed=name not in ("Postgres", "SQLite"))


def _short(names: str, plugin: str, options: str = "", kinds: Iterable[str] = _BOTH) -> Iterator[NotYet]:
    """Yield entries for alternative names of existing plugins, with the options to use."""
    written = f"{plugin} {{ {options or '…'} }}"
    for name in names.split():
        for kind in kinds:
            yield NotYet(
                kind=kind, name=name, planned=False, why="", instead=f"use {written}", served_by=plugin, listed=False
            )


def _transform(name: str, why: str, instead: str, *, planned: bool = False) -> NotYet:
    return NotYet(kind="transform", name=name, planned=planned, why=why, instead=instead)


_SOURCE, _SINK = ("source",), ("sink",)
_HTTP = "HTTP services, as configurations of Http"
_DATABASE = "another database"
_SERVICE = "another service"
_FILES = "files elsewhere"
_MOUNT = "mount the file system on all machines and use LocalFile"

_ALL: tuple[NotYet, ...] = (
    *_databases("Mysql", "jdbc:mysql://host:3306/database"),
    *_databases("MariaDB", "jdbc:mariadb://host:3306/database"),
    *_databases("PostgreSQL Postgres", "jdbc:postgresql://host:5432/database"),
    *_databases("SQLite", "jdbc:sqlite:/path"),
    *_short("S3 AmazonS3 Minio", "S3File"),
    *_short("Oss AliyunOss", "OssFile"),
    *_short("Hdfs", "HdfsFile"),
    *_short("Ftp", "FtpFile"),
    *_short("Sftp", "SftpFile"),
    *_short("File", "LocalFile"),
    *(
        each
        for name in ("csv", "json", "parquet", "orc", "excel", "xml", "text")
        for suffix in ("", "File")
        for each in _short(name.capitalize() + suffix, "LocalFile", f"file_format_type = {name}")
    ),
    *_short("Fake Generator", "FakeSource", kinds=_SOURCE),
    *_short("Rest RestApi Api HttpSource", "Http", kinds=_SOURCE),
    *_short("Stdout Print", "Console", kinds=_SINK),
    *_databases("Rds", "jdbc:mysql://host:3306/database or jdbc:postgresql://host:5432/database"),
    *_connectors(
        "Oracle SqlServer DB2 Dameng Kingbase Redshift Dsql",
        "databases, as configurations of Jdbc, which supports PostgreSQL, MySQL, MariaDB, SQLite and DuckDB",
        planned=True,
        spark="jdbc",
    ),
    *_connectors("CosFile ObsFile OssJindoFile BosFile AdlsFile GcsFile SmbFile", _FILES, instead=_MOUNT),
    *_connectors("WooCommerce", _HTTP, kinds=_SOURCE, instead="use Http, and set its headers"),
    *_connectors(
        "SqlServer-CDC Oracle-CDC MongoDB-CDC TiDB-CDC Opengauss-CDC Dameng-CDC DB2-CDC GaussDB-CDC OceanBase-CDC "
        "Vitess-CDC",
        "change data capture",
        planned=True,
        kinds=_SOURCE,
    ),
    *_connectors("DuckDB", "a source", kinds=_SOURCE, instead='use Jdbc with url = "jdbc:duckdb:/path"'),
    *_connectors("Hudi", "a table format", spark="hudi"),
    *_connectors("Paimon", "a table format", spark="paimon"),
    *_connectors("Hive HiveJdbc", "a warehouse"),
    *_connectors("Clickhouse", _DATABASE, spark="clickhouse"),
    *_connectors("Cassandra", _DATABASE, spark="org.apache.spark.sql.cassandra"),
    *_connectors("Doris", _DATABASE, spark="doris"),
    *_connectors("StarRocks", _DATABASE, spark="starrocks"),
    *_connectors("MongoDB", _DATABASE, spark="mongodb"),
    *_connectors("Elasticsearch", _DATABASE, spark="org.elasticsearch.spark.sql"),
    *_connectors("Neo4j", _DATABASE, spark="org.neo4j.spark.DataSource"),
    *_connectors("Hbase", _DATABASE, spark="org.apache.hadoop.hbase.spark"),
    *_connectors("Kudu", _DATABASE, spark="kudu"),
    *_connectors("Snowflake", _DATABASE, spark="snowflake"),
    *_connectors("BigQuery", _DATABASE, spark="bigquery"),
    *_connectors("Phoenix Databend Druid Easysearch InfluxDB IoTDB IoTDBv2 Maxcompute Milvus OceanBase", _DATABASE),
    *_connectors("OpenMldb Qdrant Tablestore TDengine TiDB Typesense Aerospike Fluss Greenplum Cloudberry", _DATABASE),
    *_connectors("AmazonDynamoDB GoogleFirestore HugeGraph Lance NebulaGraph Pegasus Vertica Access", _DATABASE),
    *_connectors("GoogleBigtable Firebase", _DATABASE),
    *_connectors("AmazonDocumentDB AzureCosmosDB", _DATABASE, kinds=_SOURCE),
    *_connectors("Couchbase DeepLake SingleStore", _DATABASE, kinds=_SINK),
    *_connectors("ClickhouseFile Datahub S3Redshift SelectDBCloud", _DATABASE, kinds=_SINK),
    *_connectors("Pulsar", "logs and queues", spark="pulsar"),
    *_connectors("Rabbitmq RocketMQ Activemq AmazonSqs Socket Mqtt", "logs and queues"),
    *_connectors("AzureQueueStorage GooglePubSub", "logs and queues"),
    *_connectors("AzureEventHubs EdgeSocket", "logs and queues", kinds=_SOURCE),
    *_connectors("Syslog", "logs and queues"),
    *_connectors("NatsJetStream", "logs and queues", kinds=_SINK),
    *_connectors("GoogleSheets GraphQL Prometheus Sls Salesforce Linear HubSpot Shopify Web3j", _SERVICE),
    *_connectors("FacebookAds GoogleAds GoogleAnalytics4 GcpPubSub Emqx", _SERVICE, kinds=_SOURCE),
    *_connectors("Asana PayPal PostHog", _SERVICE, kinds=_SOURCE),
    *_connectors("Airtable AzureDataExplorer Email SNMP Splunk", _SERVICE),
    *_connectors("Sentry SensorsData Timeplus Enterprise-WeChat Mem0", _SERVICE, kinds=_SINK),
    *_connectors(
        "FakeSourceStream", "an older name", kinds=_SOURCE, instead="use FakeSource with job.mode = STREAMING"
    ),
    *_connectors("PythonSource Python", "a Python script", kinds=_SOURCE, instead="use PythonFunction with a function"),
    *_connectors(
        "BlackHole", "a sink that discards rows", kinds=_SINK, instead="use Console with log.print.data = false"
    ),
    _transform("DynamicCompile", "Java or Groovy in a job file", "write the function in Python, with Python { … }"),
    _transform("Calcite", "another dialect of SQL", "use Sql { … }, or SparkSql { … }"),
    _transform("TextChunk", "pieces of texts", "split texts in a function, with Python { … }"),
    _transform("SqlUdf", "functions in Java", "write the function in Python, with Python { … } or DataFrame { … }"),
    _transform("TableMerge", "combining tables under one name", "rename them with TableRename"),
    _transform("TableFilter", "choosing tables", "name the tables at the source, or use Python { … }"),
    _transform("FieldEncrypt", "encrypted columns", "encrypt in a function, with Python { … }"),
    _transform("Encrypt", "encrypted columns", "encrypt in a function, with Python { … }"),
    _transform("MultiFieldSplit", "splitting several columns at once", "use one Split { … } for each column"),
    _transform("SimpleSql", "an older name", "use Sql { … }"),
    _transform("RegexExtract", "parts of a string", "use REGEXP_SUBSTR in Sql { … }, or Python { … }"),
    _transform("DefineSinkType", "column types in the sink", "use CAST in Sql { … }"),
    _transform("TikaDocument", "texts of documents", "use a library in a function, with Python { … }"),
    _transform("Pivot", "turning rows into columns", "use SparkSql { … } in a batch job: SELECT … PIVOT (…)"),
    _transform("Deduplicate", "duplicate rows", "use a sink with a primary key"),
    _transform("StructEvolution", "schema evolution", "declare the columns at the source", planned=True),
    _transform("CatalogTableMeta", "names and keys of tables", "set primaryKey in the schema of the source"),
)
_BY_NAME = {(each.kind, _folded(each.name)): each for each in _ALL}
