"""``FtpFile`` and ``SftpFile``: files on an FTP or SFTP server, accessed with fsspec's clients."""

from collections.abc import Mapping
from typing import Any, ClassVar

from seatunnel_core.connector_api.option import ENUM, STRING, Option, Options, within
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem

HOST = Option("host", STRING, required=True, unless=(TABLES,), doc="Host name or address of the server.")
USER = Option("user", STRING, required=True, unless=(TABLES,), aliases=("username",), doc="User name.")
FTP_PORT = Option("port", within(1, 65535), default=21, doc="Port of the server.")
FTP_PASSWORD = Option("password", STRING, secret=True, doc="Password of the user. It is sent unencrypted.")
MODE = Option(
    "connection_mode",
    ENUM("passive_local", "active_local"),
    default="passive_local",
    no_effect="in passive mode, the client opens all data connections",
    doc="Active or passive mode.",
)
CONTROL_ENCODING = Option("control_encoding", STRING, default="UTF-8", doc="Encoding of file names on the server.")
SFTP_PORT = Option("port", within(1, 65535), default=22, doc="Port of the server.")
SFTP_PASSWORD = Option("password", STRING, secret=True, doc="Password of the user, or passphrase of the private key.")
KEY_FILE = Option(
    "private_key_path",
    STRING,
    aliases=("keyfile",),
    doc="Path of a private key to use instead of a password. The file must exist on every machine.",
)
FTP_OPTIONS: tuple[Option[Any], ...] = (HOST, FTP_PORT, USER, FTP_PASSWORD, MODE, CONTROL_ENCODING)
SFTP_OPTIONS: tuple[Option[Any], ...] = (HOST, SFTP_PORT, USER, SFTP_PASSWORD, KEY_FILE)


def _server(protocol: str, options: Options, **own: Any) -> FileSystem:
    host, port = options[HOST], options[FTP_PORT]
    given: Mapping[str, Any] = {"host": host, "port": port, "username": options[USER], "timeout": 30, **own}
    return FsspecFileSystem(
        protocol=protocol, top=f"{protocol}://{host}:{port}", schemes=(f"{protocol}://{host}",), options=given
    )


class _Ftp:
    identifier: ClassVar[str] = "FtpFile"

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        """Return the file system. It does not cache listings, because another process publishes while tasks stage."""
        password, encoding = options[FTP_PASSWORD] or "", options[CONTROL_ENCODING]
        return _server("ftp", options, password=password, encoding=encoding, use_listings_cache=False)


class _Sftp:
    identifier: ClassVar[str] = "SftpFile"

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        login = {"password": options[SFTP_PASSWORD], "key_filename": options[KEY_FILE]}
        return _server("sftp", options, **{key: value for key, value in login.items() if value is not None})


class FtpFileSource(_Ftp, FileSource):
    """Reads files from an FTP server."""

    declared = source_options.source_options(*FTP_OPTIONS)
    example = """
        host = "files.example.com"
        user = reader
        path = "/data/in"
        file_format_type = csv
        csv_use_header_line = true
    """


class FtpFileSink(_Ftp, FileSink):
    """Writes files to an FTP server; publishes each file of a checkpoint with a rename."""

    declared = (*FTP_OPTIONS, *sink_options.SINK_OPTIONS)
    example = """
        host = "files.example.com"
        user = writer
        path = "/data/out"
        file_format_type = parquet
    """


class SftpFileSource(_Sftp, FileSource):
    """Reads files from an SFTP server."""

    declared = source_options.source_options(*SFTP_OPTIONS)
    example = """
        host = "files.example.com"
        user = reader
        private_key_path = "/home/reader/.ssh/id_ed25519"
        path = "/data/in"
        file_format_type = csv
        csv_use_header_line = true
    """


class SftpFileSink(_Sftp, FileSink):
    """Writes files to an SFTP server; publishes each file of a checkpoint with a rename."""

    declared = (*SFTP_OPTIONS, *sink_options.SINK_OPTIONS)
    example = """
        host = "files.example.com"
        user = writer
        private_key_path = "/home/writer/.ssh/id_ed25519"
        path = "/data/out"
        file_format_type = parquet
    """
