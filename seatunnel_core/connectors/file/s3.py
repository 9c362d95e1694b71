"""The ``S3File`` source and sink."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from seatunnel_core.clients import keys
from seatunnel_core.connector_api.option import ENUM, MAP, STRING, Option, Options
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.s3.store import OPTION_NAMES, S3Store
from seatunnel_core.connectors.filesystems.server_clients import settings, usage_errors

BUCKET = Option("bucket", STRING, required=True, unless=(TABLES,), doc="Name of the bucket, or s3a://name.")
ENDPOINT = Option(
    "fs.s3a.endpoint",
    STRING,
    doc="Server: host:port or a URL; by default Amazon S3 in the configured region.",
)
PROVIDER = Option(
    "fs.s3a.aws.credentials.provider",
    STRING,
    doc=(
        "Source of the credentials: a Hadoop class such as SimpleAWSCredentialsProvider or "
        "InstanceProfileCredentialsProvider, or several separated by commas; the first one with credentials is used. "
        "If unset, access_key and secret_key, otherwise boto3's default chain."
    ),
)
ACCESS_KEY = Option("access_key", STRING, secret=True, doc="Access key ID.")
SECRET_KEY = Option("secret_key", STRING, secret=True, aliases=("access_secret",), doc="Secret access key.")
PROPERTIES = Option(
    "hadoop_s3_properties",
    MAP,
    secret=True,
    doc="Further Hadoop properties. Supported: fs.s3a.endpoint.region, fs.s3a.path.style.access, fs.s3a.session.token, "
    "fs.s3a.connection.ssl.enabled, fs.s3a.ssl.ca-file, a proxy (fs.s3a.proxy.host, port, username and password), and "
    "the keys of AssumedRoleCredentialProvider (fs.s3a.assumed.role.arn and others).",
)
MISSING_STAGED = Option(
    "missing_staged",
    ENUM("fail", "published"),
    default="fail",
    doc=(
        "Handling of a staged object if, after a restart, both the object and its published copy are missing: fail, "
        "or assume that it was published and later removed."
    ),
)
OPTIONS: tuple[Option[Any], ...] = (BUCKET, ENDPOINT, PROVIDER, ACCESS_KEY, SECRET_KEY, PROPERTIES)

_KEYS = {
    BUCKET: "s3.bucket",
    ENDPOINT: "fs.s3a.endpoint",
    PROVIDER: "fs.s3a.aws.credentials.provider",
    ACCESS_KEY: "fs.s3a.access.key",
    SECRET_KEY: "fs.s3a.secret.key",
}
"""Mapping from options to keys of the client's configuration."""

logger = logging.getLogger("seatunnel.connectors")


def _properties(written: Mapping[str, Any]) -> dict[str, str]:
    """Return the Hadoop properties that the client supports; warn about unsupported ones.

    The bucket and the endpoint must be options, because the state of a sink is bound to them.
    """
    known = keys.S3 - {_KEYS[BUCKET], _KEYS[ENDPOINT]}
    given = {key: str(value) for key, value in written.items() if key in known or key.startswith(keys.OF_PROVIDERS)}
    for key in written.keys() - given.keys():
        logger.warning("hadoop_s3_properties: %r has no effect", key)
    return given


class _S3:
    identifier: ClassVar[str] = "S3File"

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system of a source or a sink."""
        given = _properties(options[PROPERTIES] or {}) | settings(options, _KEYS)
        with usage_errors("S3File", "s3", OPTION_NAMES):
            from seatunnel_core.clients.s3 import connection

            connection.check(given)
            store = S3Store(bucket=connection.bucket_of(given), configuration=given)
        return ObjectFileSystem(store=store, gone_is_published=options.get("missing_staged") == "published")


class S3FileSource(_S3, FileSource):
    """Reads objects from S3 and compatible servers."""

    declared = source_options.source_options(*OPTIONS)
    example = """
        bucket = "s3a://my-bucket"
        path = "/data/in"
        fs.s3a.aws.credentials.provider = DefaultAWSCredentialsProviderChain
        file_format_type = parquet
    """


class S3FileSink(_S3, FileSink):
    """Writes objects to S3: tasks stage them, and a completed checkpoint copies them within the bucket."""

    server: ClassVar[tuple[Option[Any], ...]] = (ENDPOINT,)
    declared = (*OPTIONS, MISSING_STAGED, *sink_options.SINK_OPTIONS)
    example = """
        bucket = "s3a://my-bucket"
        path = "/data/out"
        fs.s3a.aws.credentials.provider = DefaultAWSCredentialsProviderChain
        file_format_type = parquet
    """
