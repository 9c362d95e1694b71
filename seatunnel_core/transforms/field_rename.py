"""The transform ``FieldRename``: renames all columns by a rule, or individual columns."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import TransformError
from seatunnel_core.connector_api.option import BLOCK, LIST, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import check_known, renamed_absent, with_names
from seatunnel_core.transforms.naming import NAMING, entry_texts, naming

SPECIFIC = Option(
    "specific",
    LIST(BLOCK(dict.fromkeys(("field_name", "target_name")))),
    doc="Columns renamed individually: a list of { field_name, target_name }; the other options do not apply to them.",
)


class FieldRename(Transform):
    """Keeps the order, types and values of columns. The primary key has the new names."""

    identifier: ClassVar[str] = "FieldRename"
    keeps_absent = True
    declared = (*NAMING, SPECIFIC)
    example = """
        convert_case = UPPER
        prefix = "F_"
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._naming = naming(options)
        pairs = [
            entry_texts(SPECIFIC.key, entry, ("field_name", "target_name"))
            for entry in reversed(options[SPECIFIC] or ())
        ]
        self._specific = dict(pairs)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        check_known("FieldRename", self._specific, schema)
        names = [self._name(name) for name in schema.columns.names]
        for name in names:
            same = [old for old, new in zip(schema.columns.names, names, strict=True) if new == name]
            if len(same) > 1:
                raise TransformError(
                    f"FieldRename: the columns {', '.join(same)} of the table {schema.table} would all have the name "
                    f"{name}; set different names for them in the option specific"
                )
        columns = pa.schema([each.with_name(name) for each, name in zip(schema.columns, names, strict=True)])
        return with_names(schema, columns, dict(zip(schema.columns.names, names, strict=True)))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        names = {name: self._name(name) for name in batch.rows.schema.names}
        rows = batch.rows.rename_columns(list(names.values()))
        yield evolve(batch, rows=rows, absent=renamed_absent(batch, names))

    def _name(self, name: str) -> str:
        return self._specific.get(name) or self._naming.renamed(name)
