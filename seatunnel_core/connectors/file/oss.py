"""The ``OssFile`` source and sink."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from seatunnel_core.clients import keys
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import MAP, STRING, Option, Options
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.s3 import MISSING_STAGED
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.oss.store import OPTION_NAMES, OssStore
from seatunnel_core.connectors.filesystems.server_clients import settings, usage_errors

BUCKET = Option("bucket", STRING, required=True, unless=(TABLES,), doc="Name of the bucket, or oss://name.")
ENDPOINT = Option(
    "endpoint",
    STRING,
    required=True,
    unless=(TABLES,),
    doc="Endpoint of the bucket's region, such as oss-cn-hangzhou.aliyuncs.com. Uses https unless it starts with "
    "http://.",
)
ACCESS_KEY = Option("access_key", STRING, secret=True, doc="Access key ID.")
ACCESS_SECRET = Option("access_secret", STRING, secret=True, doc="Access key secret.")
TOKEN = Option("security_token", STRING, secret=True, doc="Security token of temporary credentials.")
PROPERTIES = Option(
    "hadoop_oss_properties",
    MAP,
    secret=True,
    doc=(
        "Further Hadoop properties: fs.oss.region (uses signature version 4 if the endpoint does not name the region), "
        "fs.oss.credentials.provider (for example EnvironmentVariableCredentialsProvider), fs.oss.ecs.metadata, "
        "fs.oss.connection.secure.enabled, timeouts and a proxy."
    ),
)
OPTIONS: tuple[Option[Any], ...] = (BUCKET, ENDPOINT, ACCESS_KEY, ACCESS_SECRET, TOKEN, PROPERTIES)

_KEYS = {
    BUCKET: "oss.bucket",
    ENDPOINT: "fs.oss.endpoint",
    ACCESS_KEY: "fs.oss.accessKeyId",
    ACCESS_SECRET: "fs.oss.accessKeySecret",
    TOKEN: "fs.oss.securityToken",
}
"""Mapping from options to keys of the client's configuration."""

_TUNING = (
    "fs.AbstractFileSystem.oss.impl",
    "fs.oss.attempts.maximum",
    "fs.oss.block.size",
    "fs.oss.buffer.dir",
    "fs.oss.connection.maximum",
    "fs.oss.fast.upload.",
    "fs.oss.impl",
    "fs.oss.list.version",
    "fs.oss.max.copy.",
    "fs.oss.multipart.",
    "fs.oss.paging.maximum",
    "fs.oss.threads.",
    "fs.oss.upload.active.blocks",
    "fs.oss.user.agent.prefix",
)
"""Prefixes of Hadoop keys that select or tune Hadoop's client but do not affect which objects are accessed."""

logger = logging.getLogger("seatunnel.connectors")


def _properties(written: Mapping[str, Any]) -> dict[str, str]:
    """Return the Hadoop properties that the client supports; reject unknown ones."""
    given = {}
    for key, value in written.items():
        if key.startswith(_TUNING):
            logger.warning("hadoop_oss_properties: %r tunes Hadoop's client and has no effect", key)
        elif not key.startswith(keys.OF_PROVIDERS) and key not in keys.OSS.difference(_KEYS.values()):
            known = ", ".join(sorted(keys.OSS.difference(_KEYS.values())))
            raise UsageError(f"option 'hadoop_oss_properties': {key!r} has no effect; write one of {known}")
        else:
            given[key] = str(value)
    return given


class _Oss:
    identifier: ClassVar[str] = "OssFile"

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system of a source or a sink."""
        given = _properties(options[PROPERTIES] or {}) | settings(options, _KEYS)
        with usage_errors("OssFile", "oss", OPTION_NAMES):
            from seatunnel_core.clients.oss.client import connect

            bucket = connect(given).bucket_name  # This sends no request yet.
        store = OssStore(bucket=bucket, configuration=given)
        return ObjectFileSystem(store=store, gone_is_published=options.get("missing_staged") == "published")


class OssFileSource(_Oss, FileSource):
    """Reads objects from Alibaba Cloud OSS."""

    declared = source_options.source_options(*OPTIONS)
    example = """
        bucket = "oss://my-bucket"
        endpoint = "oss-cn-hangzhou.aliyuncs.com"
        hadoop_oss_properties { fs.oss.credentials.provider = EnvironmentVariableCredentialsProvider }
        path = "/data/in"
        file_format_type = parquet
    """


class OssFileSink(_Oss, FileSink):
    """Writes objects to Alibaba Cloud OSS: tasks stage them, and completed checkpoints copy them within the bucket."""

    server: ClassVar[tuple[Option[Any], ...]] = (ENDPOINT,)
    declared = (*OPTIONS, MISSING_STAGED, *sink_options.SINK_OPTIONS)
    example = """
        bucket = "oss://my-bucket"
        endpoint = "oss-cn-hangzhou.aliyuncs.com"
        hadoop_oss_properties { fs.oss.credentials.provider = EnvironmentVariableCredentialsProvider }
        path = "/data/out"
        file_format_type = parquet
    """
