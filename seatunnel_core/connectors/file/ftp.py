"""``FtpFile``: files of a server that speaks FTP, by fsspec and Python's own client."""

from typing import Any, ClassVar

from seatunnel_core.connector_api.option import ENUM, STRING, Option, Options, within
from seatunnel_core.connectors.file import sink_options, source_options
from seatunnel_core.connectors.file.sftp import HOST, USER
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem

PORT = Option("port", within(1, 65535), default=21, doc="The server's port.")
PASSWORD = Option("password", STRING, secret=True, doc="The password of that user. It goes over the network as it is.")
MODE = Option(
    "connection_mode",
    ENUM("passive_local", "active_local"),
    default="passive_local",
    no_effect="connections are always opened to the server (passive)",
    doc="Who opens the connections for data.",
)
CONTROL_ENCODING = Option("control_encoding", STRING, default="UTF-8", doc="The encoding of names on the server.")
OPTIONS: tuple[Option[Any], ...] = (HOST, PORT, USER, PASSWORD, MODE, CONTROL_ENCODING)


def file_system(options: Options) -> FileSystem:
    """Return the server of a source or a sink."""
    host = options[HOST]
    given = {"port": options[PORT], "username": options[USER], "password": options[PASSWORD] or ""}
    return FsspecFileSystem(
        protocol="ftp",
        top=f"ftp://{host}:{options[PORT]}",
        schemes=(f"ftp://{host}",),
        options={
            "host": host,
            **given,
            "encoding": options[CONTROL_ENCODING],
            "timeout": 30,
            "use_listings_cache": False,  # another process publishes, and tasks stage
        },
    )


class FtpFileSource(FileSource):
    """Reads files of a server that speaks FTP."""

    identifier: ClassVar[str] = "FtpFile"
    declared = source_options.source_options(*OPTIONS)
    example = """
        host = "files.example.com"
        user = reader
        path = "/data/in"
        file_format_type = csv
        csv_use_header_line = true
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)


class FtpFileSink(FileSink):
    """Writes files on a server that speaks FTP, with a rename for each file of a checkpoint."""

    identifier: ClassVar[str] = "FtpFile"
    declared = (*OPTIONS, *sink_options.SINK_OPTIONS)
    example = """
        host = "files.example.com"
        user = writer
        path = "/data/out"
        file_format_type = parquet
    """

    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return file_system(options)
