"""The ``HdfsFile`` source and sink."""

from typing import Any, ClassVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import MAP, STRING, Option, Options
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.hdfs import OPTION_NAMES, HdfsFileSystem
from seatunnel_core.connectors.filesystems.server_clients import settings, usage_errors

DEFAULT_FS = Option(
    "fs.defaultFS",
    STRING,
    required=True,
    unless=(TABLES,),
    doc="URI of the cluster: hdfs://host:port, or hdfs://nameservice together with hdfs_site_path.",
)
SITE = Option(
    "hdfs_site_path",
    STRING,
    doc="Path of the cluster's hdfs-site.xml, which lists the NameNodes, or of its folder, on every machine.",
)
HTTP_ADDRESS = Option(
    "dfs.namenode.http-address",
    STRING,
    doc=(
        "WebHDFS address of the NameNode (host:port), or several separated by semicolons. If unset, the addresses in "
        "hdfs_site_path, otherwise the host of fs.defaultFS with port 9870."
    ),
)
USER = Option(
    "remote_user",
    STRING,
    doc="User name on a cluster without Kerberos. If unset, HADOOP_USER_NAME, otherwise the user of the process.",
)
PRINCIPAL = Option("kerberos_principal", STRING, doc="Kerberos principal: user@REALM.")
KEYTAB = Option("kerberos_keytab_path", STRING, doc="Path of the principal's keytab, on every machine.")
KRB5 = Option(
    "krb5_path",
    STRING,
    doc=(
        "Path of the Kerberos configuration. A process can use only one: for a path other than /etc/krb5.conf, set "
        "KRB5_CONFIG before starting the process."
    ),
)
PROPERTIES = Option(
    "hadoop_properties",
    MAP,
    doc="Further Hadoop properties, such as dfs.replication, dfs.blocksize, or those that describe a nameservice.",
)
OPTIONS: tuple[Option[Any], ...] = (DEFAULT_FS, SITE, HTTP_ADDRESS, USER, PRINCIPAL, KEYTAB, KRB5, PROPERTIES)

_KEYS = {
    DEFAULT_FS: "fs.defaultFS",
    SITE: "hdfs_site_path",
    HTTP_ADDRESS: "dfs.namenode.http-address",
    USER: "hadoop.user.name",
    PRINCIPAL: "kerberosPrincipal",
    KEYTAB: "kerberosKeytabFilePath",
    KRB5: "krb5_path",
}
"""Mapping from options to keys of the client's configuration."""


class _Hdfs:
    identifier: ClassVar[str] = "HdfsFile"

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system of a source or a sink."""
        given = settings(options, _KEYS)
        given |= {f"seatunnel.hadoop.{key}": str(value) for key, value in (options[PROPERTIES] or {}).items()}
        if bool(options[PRINCIPAL]) != bool(options[KEYTAB]):
            missing = KEYTAB if options[PRINCIPAL] else PRINCIPAL
            raise UsageError(f"option {missing.key!r}: required with Kerberos")
        with usage_errors("HdfsFile", "hdfs", OPTION_NAMES):
            from seatunnel_core.clients.webhdfs import connection

            name = connection.address_of(given).name
        return HdfsFileSystem(top=name, configuration=given)


class HdfsFileSource(_Hdfs, FileSource):
    """Reads files from HDFS over WebHDFS."""

    declared = source_options.source_options(*OPTIONS)
    example = """
        fs.defaultFS = "hdfs://namenode.example.com:8020"
        path = "/data/in"
        file_format_type = parquet
    """


class HdfsFileSink(_Hdfs, FileSink):
    """Writes files to HDFS over WebHDFS; publishes each file of a checkpoint with a rename."""

    declared = (*OPTIONS, *sink_options.SINK_OPTIONS)
    example = """
        fs.defaultFS = "hdfs://namenode.example.com:8020"
        path = "/data/out"
        file_format_type = parquet
    """
