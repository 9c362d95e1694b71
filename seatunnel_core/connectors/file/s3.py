"""The source and the sink ``S3File``."""

import re
from typing import Any, ClassVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import ENUM, MAP, STRING, Option, Options
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.s3.client import Connection, endpoint_of, provider_of
from seatunnel_core.connectors.filesystems.s3.store import S3Store

BUCKET = Option("bucket", STRING, required=True, unless=(TABLES,), doc="The bucket, as name or as s3a://name.")
ENDPOINT = Option(
    "fs.s3a.endpoint",
    STRING,
    doc="The server: host:port or a URL; Amazon's own, of the region that is configured, when it is not set.",
)
PROVIDER = Option(
    "fs.s3a.aws.credentials.provider",
    STRING,
    doc="Where the credentials come from, as a class of Hadoop, such as SimpleAWSCredentialsProvider or "
    "InstanceProfileCredentialsProvider; when it is not set, access_key and secret_key, or else whatever boto3 finds.",
)
ACCESS_KEY = Option("access_key", STRING, secret=True, doc="The name of the key that signs requests.")
SECRET_KEY = Option("secret_key", STRING, secret=True, aliases=("access_secret",), doc="The key that signs requests.")
PROPERTIES = Option(
    "hadoop_s3_properties",
    MAP,
    secret=True,
    doc="More of Hadoop's keys: fs.s3a.endpoint.region, fs.s3a.path.style.access, fs.s3a.session.token, "
    "fs.s3a.connection.ssl.enabled and fs.s3a.ssl.ca-file have an effect.",
)
MISSING_STAGED = Option(
    "missing_staged",
    ENUM("fail", "published"),
    default="fail",
    doc="What it means when a restart finds neither a staged object nor its copy: that is an error, or the copy "
    "was published and somebody took it away since.",
)
OPTIONS: tuple[Option[Any], ...] = (BUCKET, ENDPOINT, PROVIDER, ACCESS_KEY, SECRET_KEY, PROPERTIES)

_BUCKET = re.compile(r"(?:s3[an]?://)?([a-zA-Z0-9][a-zA-Z0-9._-]{1,254})/?")


def file_system(options: Options) -> ObjectFileSystem:
    """Return the bucket of a source or a sink."""
    match = _BUCKET.fullmatch(options[BUCKET] or "")
    if match is None:
        raise UsageError(
            f"option 'bucket': {options[BUCKET]!r} names no bucket; write name, or s3a://name, and folders into path"
        )
    properties = options[PROPERTIES] or {}
    has_keys = bool(options[ACCESS_KEY] or options[SECRET_KEY])
    connection = Connection(
        endpoint=endpoint_of(options[ENDPOINT], properties),
        provider=provider_of(options[PROVIDER], has_keys=has_keys),
        access_key=options[ACCESS_KEY],
        secret_key=options[SECRET_KEY],
        properties=properties,
    )
    connection.check()
    store = S3Store(bucket=match[1], connection=connection)
    return ObjectFileSystem(store=store, gone_is_published=options.get("missing_staged") == "published")


class S3FileSource(FileSource):
    """Reads objects of S3, and of servers that speak as it does."""

    identifier: ClassVar[str] = "S3File"
    declared = source_options.source_options(*OPTIONS)
    example = """
        bucket = "s3a://my-bucket"
        path = "/data/in"
        fs.s3a.aws.credentials.provider = DefaultAWSCredentialsProviderChain
        file_format_type = parquet
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)


class S3FileSink(FileSink):
    """Writes objects of S3: staged by tasks, and copied within the bucket when a checkpoint completes."""

    identifier: ClassVar[str] = "S3File"
    server: ClassVar[tuple[Option[Any], ...]] = (ENDPOINT,)
    declared = (*OPTIONS, MISSING_STAGED, *sink_options.SINK_OPTIONS)
    example = """
        bucket = "s3a://my-bucket"
        path = "/data/out"
        fs.s3a.aws.credentials.provider = DefaultAWSCredentialsProviderChain
        file_format_type = parquet
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)
