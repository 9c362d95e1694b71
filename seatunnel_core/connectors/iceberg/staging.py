"""Location of staged data files: below the table's location, with their final names.

::

    <data>/seatunnel/<job>/<pipeline>/<epoch>/<job>-p<pipeline>-s<sink>-o<source>-e<epoch>-u<unit>-a<attempt>.parquet

``<data>`` is the table's ``write.data.path``, or ``data`` below its location. A file is staged until a snapshot refers
to it, and published from then on, without being moved. A sweep removes files to which no snapshot refers.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow.fs as pafs
from attrs import frozen

from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connectors.filesystems.local import sync_folder
from seatunnel_core.connectors.filesystems.staged_name import OWNER, committable_id

if TYPE_CHECKING:
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import Table


@frozen(kw_only=True)
class StagedFile:
    """A data file of any attempt of this sink, published or not."""

    path: str
    """Path in the table's file system, without a URI scheme."""

    name: str
    epoch: int
    committable: str
    """ID of the committable that contains the file if its attempt succeeded."""


def data_folder(table: "Table") -> str:
    """Return the folder of the data files of a table."""
    chosen: str = table.properties.get("write.data.path") or f"{table.location().rstrip('/')}/data"
    return chosen.rstrip("/")


def job_folder(table: "Table", job_id: str) -> str:
    """Return the folder of the data files of a job."""
    return f"{data_folder(table)}/seatunnel/{job_id}"


def epoch_folder(table: "Table", context: SinkContext | WriterContext, epoch: int) -> str:
    """Return the folder for the data files that a pipeline writes in an epoch."""
    return f"{job_folder(table, context.job_id)}/{context.pipeline_id}/{epoch}"


def is_own_name(name: object, context: SinkContext, epoch: int, unit: int) -> bool:
    """Return True if this sink may give this name to a file of the unit. A committable must not contain other names."""
    own = f"{context.job_id}-p{context.pipeline_id}-s{context.sink_ordinal}-o"
    written = re.escape(own) + rf"[0-9]+-e{epoch}-u{unit}-a[0-9-]+\.parquet"
    return isinstance(name, str) and re.fullmatch(written, name) is not None


def own_file(name: str, context: SinkContext) -> "re.Match[str] | None":
    """Match the name of a file of this sink, with the groups of ``OWNER``; return ``None`` for other names."""
    found = OWNER.match(name, len(context.job_id)) if name.startswith(context.job_id) else None
    ours = found and int(found["pipeline"]) == context.pipeline_id and int(found["sink"]) == context.sink_ordinal
    return found if ours else None


def files_of(table: "Table", context: SinkContext) -> Iterator[StagedFile]:
    """Yield every file of this sink below the folder of the pipeline."""
    files, folder = opened(table.io, f"{job_folder(table, context.job_id)}/{context.pipeline_id}")
    for found in files.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True)):
        unit = own_file(found.base_name, context) if found.type == pafs.FileType.File else None
        if unit is not None:
            yield StagedFile(
                path=found.path, name=found.base_name, epoch=int(unit["epoch"]), committable=committable_id(unit)
            )


def opened(io: "PyArrowFileIO", location: str) -> tuple[Any, str]:
    """Return the file system of a location, and the path in it."""
    scheme, netloc, path = io.parse_location(location)
    return io.fs_by_scheme(scheme, netloc), path


def local_path(io_properties: Mapping[str, Any], location: str) -> str | None:
    """Return the path of a location on a local disk, where files must be synced; ``None`` for other file systems."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    scheme, _, path = PyArrowFileIO.parse_location(location, io_properties)
    return path if scheme == "file" else None


def make_folder(table: "Table", folder: str) -> None:
    """Create a folder on a local disk durably; do nothing for other file systems."""
    path = local_path(table.io.properties, folder)
    if path is None:
        return
    top = local_path(table.io.properties, table.location())
    os.makedirs(path, exist_ok=True)
    while path != os.path.dirname(path) and path != top:
        path = os.path.dirname(path)
        sync_folder(path)
