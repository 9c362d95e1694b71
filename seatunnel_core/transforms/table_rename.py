"""The transform ``TableRename``: renames tables."""

from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.transforms.naming import NAMING, naming


class TableRename(Transform):
    """Applies all options to the last part of the name, and ``convert_case`` to database and schema as well."""

    identifier: ClassVar[str] = "TableRename"
    keeps_absent = True
    keeps_columns = True
    declared = NAMING
    example = 'prefix = "copy_of_"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._naming = naming(options)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return evolve(schema, table=self._name(schema.table))

    def apply(self, batch: Batch) -> Iterator[Batch]:
        yield evolve(batch, table=self._name(batch.table))

    def _name(self, table: str) -> str:
        database, point, name = table.rpartition(".")
        return self._naming.cased(database) + point + self._naming.renamed(name)
