"""The transform ``FilterRowKind``: keeps rows of certain kinds."""

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError, UsageError
from seatunnel_core.connector_api.option import ENUM, LIST, Option, Options
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.columns import kept, require_arrived

_KINDS = LIST(ENUM(*(kind.name for kind in RowKind)))
INCLUDE = Option("include_kinds", _KINDS, doc="Row kinds to keep.")
EXCLUDE = Option("exclude_kinds", _KINDS, doc="Row kinds to remove; the others are kept.")


class FilterRowKind(Transform):
    """The kinds are ``include_kinds``, or all except ``exclude_kinds``. Rows keep their kinds.

    If it keeps only one of UPDATE_BEFORE and UPDATE_AFTER, it rejects inserted and updated rows with absent values.
    """

    identifier: ClassVar[str] = "FilterRowKind"
    keeps_absent = True
    keeps_columns = True
    declared = (INCLUDE, EXCLUDE)
    example = "exclude_kinds = [DELETE]"

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        include, exclude = options[INCLUDE], options[EXCLUDE]
        if bool(include) == bool(exclude):
            raise UsageError("set either include_kinds or exclude_kinds, but not both")
        self._kept = [kind.value for kind in RowKind if (kind.name in include if include else kind.name not in exclude)]
        self._divides = (RowKind.UPDATE_BEFORE in self._kept) != (RowKind.UPDATE_AFTER in self._kept)

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        if batch.kinds is None:
            if RowKind.INSERT in self._kept:
                yield batch
            return
        found = kept(batch, pc.is_in(batch.kinds, pa.array(self._kept, pa.int8())))
        if self._divides:
            self._refuse_incomplete(found)
        yield found

    def _refuse_incomplete(self, batch: Batch) -> None:
        """Raise ``RowError`` for absent values, because a sink may need both rows of an update to fill them in."""
        try:
            require_arrived(batch, self.identifier, only_new_rows=True)
        except RowError as error:
            raise RowError(f"{error}, or keep both UPDATE_BEFORE and UPDATE_AFTER in this transform") from None
