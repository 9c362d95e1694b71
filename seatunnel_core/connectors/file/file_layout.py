"""Folders, file names and columns of the files that a sink writes."""

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.file import sink_options as opt
from seatunnel_core.connectors.file.formats.style import style_of
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.staging.naming import folder_parts, split_path
from seatunnel_core.connectors.staging.table_names import checked_name, table_folder, table_name_in
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.connectors.write_mode import WriteMode, write_mode_of
from seatunnel_core.findings import Findings
from seatunnel_core.rows.types import type_name

Destination = tuple[str, str]
"""Folder of a file below the target, and pattern of the file's name."""


@frozen(kw_only=True)
class FileLayout:
    """Folders, file names and columns of a sink's files."""

    identifier: str
    """Name of the sink plugin."""

    options: Options = field(repr=False)
    files: FileSystem
    place: str
    """Fixed part of the path, before any variable."""

    root: str
    """Folder in which files are staged; ``template`` is relative to it."""

    template: str
    expression: str
    mode: WriteMode
    style: FileStyle
    partition_by: tuple[str, ...]
    sink_columns: tuple[str, ...]
    """Columns to write; empty for all."""

    def target(self, context: SinkContext | WriterContext) -> Target:
        """Return the target folder for a sink or a writer."""
        return Target.of(self.root, context, self.identifier, self.files)

    def destination_of(self, schema: TableSchema) -> Destination:
        """Return the folder of a table below the target, and the pattern of its file names."""
        return table_folder(self.template, schema), table_name_in(self.expression, schema)

    def written(self, schema: TableSchema) -> pa.Schema:
        """Return the columns of a table that are written to its files."""
        wanted = self.sink_columns or schema.columns.names
        if not self.options[opt.PARTITION_IN_FILE]:
            wanted = [name for name in wanted if name not in self.partition_by]
        return pa.schema([schema.columns.field(name) for name in wanted])

    def check_schema(self, schema: TableSchema) -> None:
        """Raise ``SinkError`` if the file format cannot represent the columns of a table."""
        findings = Findings(SinkError)
        with findings.part():
            require_columns(opt.PARTITION_BY.key, self.partition_by, schema)
        with findings.part():
            require_columns(opt.SINK_COLUMNS.key, self.sink_columns, schema)
        findings.raise_all()
        for name in self.partition_by:
            if pa.types.is_nested(schema.columns.field(name).type):
                raise SinkError(
                    f"option 'partition_by': column {name!r} has the type "
                    f"{type_name(schema.columns.field(name).type)}, which cannot be used in a folder name; choose a "
                    "column of a simple type"
                )
        self.style.writer.refuse(self.written(schema))


def layout_of(identifier: str, options: Options, files: FileSystem) -> FileLayout:
    """Return the layout of a sink."""
    place, template = split_path(files.absolute(options[opt.PATH]))
    if place.rstrip("/") == files.top.rstrip("/"):
        raise UsageError(
            f"option 'path': {options[opt.PATH]!r} is the root of the file system, which a save mode "
            "could empty; use a folder, such as /data/out"
        )
    root, mode = place, write_mode_of(options)
    if mode.replaces and not mode.partitions and files.has_folders and not template:
        root, _, template = place.rpartition("/")  # A rename in the parent replaces it.
    return FileLayout(
        identifier=identifier,
        options=options,
        files=files,
        place=place,
        root=root,
        template=template,
        mode=mode,
        style=style_of(options),
        expression=_expression(options),
        partition_by=_partition_by(options),
        sink_columns=tuple(options[opt.SINK_COLUMNS] or ()),
    )


def _expression(options: Options) -> str:
    """Return the pattern of file names; raise ``UsageError`` if it contains folders."""
    for key in (opt.EXTENSION.key, opt.TIME_FORMAT.key):
        if "/" in (options[key] or ""):
            raise UsageError(f"option {key!r}: {options[key]!r} contains a slash; use partition_by for folders")
    if options[opt.CUSTOM_FILENAME] if options.is_set(opt.CUSTOM_FILENAME) else options.is_set(opt.FILE_NAME):
        return checked_name(options[opt.FILE_NAME])
    return "${transactionId}"


def _partition_by(options: Options) -> tuple[str, ...]:
    if options.is_set(opt.HAVE_PARTITION) and not options[opt.HAVE_PARTITION]:
        return ()
    columns: tuple[str, ...] = tuple(options[opt.PARTITION_BY] or ())
    if columns:
        folder_parts(options[opt.PARTITION_DIR], columns)
    elif options[opt.HAVE_PARTITION]:
        raise UsageError("option 'have_partition': requires partition_by = [column]")
    return columns
