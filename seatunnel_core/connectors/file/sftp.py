"""``SftpFile``: files of a server that speaks SFTP, by fsspec and paramiko."""

from typing import Any, ClassVar

from seatunnel_core.connector_api.option import STRING, Option, Options, within
from seatunnel_core.connector_api.several_tables import TABLES
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem

HOST = Option("host", STRING, required=True, unless=(TABLES,), doc="The server's name or address.")
PORT = Option("port", within(1, 65535), default=22, doc="The server's port.")
USER = Option("user", STRING, required=True, unless=(TABLES,), aliases=("username",), doc="Who logs in.")
PASSWORD = Option("password", STRING, secret=True, doc="The password of that user, or of the private key.")
KEY_FILE = Option(
    "private_key_path",
    STRING,
    aliases=("keyfile",),
    doc="The file of a private key, on every machine, to log in with instead of a password.",
)
OPTIONS: tuple[Option[Any], ...] = (HOST, PORT, USER, PASSWORD, KEY_FILE)


def file_system(options: Options) -> FileSystem:
    """Return the server of a source or a sink."""
    given = {"port": options[PORT], "username": options[USER], "password": options[PASSWORD]}
    given["key_filename"] = options[KEY_FILE]
    host = options[HOST]
    return FsspecFileSystem(
        protocol="sftp",
        top=f"sftp://{host}:{options[PORT]}",
        schemes=(f"sftp://{host}",),
        options={"host": host, "timeout": 30, **{key: value for key, value in given.items() if value is not None}},
    )


class SftpFileSource(FileSource):
    """Reads files of a server that speaks SFTP."""

    identifier: ClassVar[str] = "SftpFile"
    declared = source_options.source_options(*OPTIONS)
    example = """
        host = "files.example.com"
        user = reader
        private_key_path = "/home/reader/.ssh/id_ed25519"
        path = "/data/in"
        file_format_type = csv
        csv_use_header_line = true
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)


class SftpFileSink(FileSink):
    """Writes files on a server that speaks SFTP, with a rename for each file of a checkpoint."""

    identifier: ClassVar[str] = "SftpFile"
    declared = (*OPTIONS, *sink_options.SINK_OPTIONS)
    example = """
        host = "files.example.com"
        user = writer
        private_key_path = "/home/writer/.ssh/id_ed25519"
        path = "/data/out"
        file_format_type = parquet
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)
