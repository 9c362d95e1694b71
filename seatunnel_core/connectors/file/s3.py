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

BUCKET = Option("bucket", STRING, required=True, unless=(TABLES,), doc="Bucket, as name or as s3a://name.")
ENDPOINT = Option(
    "fs.s3a.endpoint",
    STRING,
    doc="Server, as host:port or URL; by default Amazon S3 in the configured region.",
)
PROVIDER = Option(
    "fs.s3a.aws.credentials.provider",
    STRING,
    doc="Source of the credentials, as a Hadoop class such as SimpleAWSCredentialsProvider or "
    "InstanceProfileCredentialsProvider. By default access_key and secret_key, else boto3's default chain.",
)
ACCESS_KEY = Option("access_key", STRING, secret=True, doc="Access key ID.")
SECRET_KEY = Option("secret_key", STRING, secret=True, aliases=("access_secret",), doc="Secret access key.")
PROPERTIES = Option(
    "hadoop_s3_properties",
    MAP,
    secret=True,
    doc="Further Hadoop properties: fs.s3a.endpoint.region, fs.s3a.path.style.access, fs.s3a.session.token, "
    "fs.s3a.connection.ssl.enabled and fs.s3a.ssl.ca-file are supported.",
)
MISSING_STAGED = Option(
    "missing_staged",
    ENUM("fail", "published"),
    default="fail",
    doc="Handling of a staged object that a restart does not find, and whose copy is missing too: an error, or "
    "assume that it was published and later removed.",
)
OPTIONS: tuple[Option[Any], ...] = (BUCKET, ENDPOINT, PROVIDER, ACCESS_KEY, SECRET_KEY, PROPERTIES)

_BUCKET = re.compile(r"(?:s3[an]?://)?([a-zA-Z0-9][a-zA-Z0-9._-]{1,254})/?")


def file_system(options: Options) -> ObjectFileSystem:
    """Return the bucket of a source or a sink."""
    match = _BUCKET.fullmatch(options[BUCKET] or "")
    if match is None:
        raise UsageError(
            f"option 'bucket': {options[BUCKET]!r} is not a bucket name; write name, or s3a://name, and put "
            "folders into path"
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
    """Reads objects from S3 and compatible servers."""

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
    """Writes objects to S3: tasks stage them, and a completed checkpoint copies them within the bucket."""

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
