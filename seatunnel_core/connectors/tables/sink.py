"""Base class of sinks that write tables."""

import threading
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.capabilities import SupportsSaveMode
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.sink import Guarantee, RowOrder, SaveMode, SinkContext, TargetOrder
from seatunnel_core.connectors.additions import AddingSink
from seatunnel_core.connectors.tables.messages import missing_table, not_prepared
from seatunnel_core.connectors.tables.options import DATA_SAVE_MODE, SCHEMA_SAVE_MODE
from seatunnel_core.connectors.tables.table_path import TablePath
from seatunnel_core.connectors.write_mode import WriteMode


class DriverState:
    """State that exists only in the driver process and is shared by its threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Lock for creating and checking tables."""

        self.save_mode_due = False
        """True from ``apply_save_mode`` until ``create_tables`` has applied the mode to the tables."""

        self.treated: set[Hashable] = set()
        """Tables to which the save mode has been applied since the job started."""


class TableSink(AddingSink, SupportsSaveMode):
    """A sink with write modes and save modes. The options and the driver's state are not pickled."""

    guarantee = Guarantee.EXACTLY_ONCE
    defers_save_mode = True

    _search_path: str = ""

    def __init__(self, options: Options, mode: WriteMode | None) -> None:
        """Create a sink; ``mode`` is ``None`` if other options decide how rows are written."""
        super().__init__(options)
        self.needs_order = mode is not None and mode.merges
        self.replaces_rows = mode is not None and mode.merges and not mode.history
        self.needs_end = mode is not None and mode.collects
        self.prunes = mode is not None and mode.prunes
        self._write_mode = mode
        self._targets: Mapping[Any, Any] = {}
        self._driver: DriverState | None = DriverState()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_driver": None, "options": None}

    @property
    def driver(self) -> DriverState:
        """State of the driver process."""
        assert self._driver is not None, "internal error: a task used state of the driver"
        return self._driver

    @property
    @abstractmethod
    def where(self) -> str:
        """Database or catalog, and the table option; equal for two sinks that write to the same tables."""

    @abstractmethod
    def _path(self, schema: TableSchema) -> TablePath:
        """Return the table for the rows of a schema."""

    def _key_of(self, schema: TableSchema) -> Sequence[str]:
        """Return the columns of the rows by which existing rows are changed; empty if rows are only added."""
        return () if self._write_mode is None else self._write_mode.key_of(schema)

    def order_of(self, schema: TableSchema) -> TargetOrder:
        """Return the table and its key. Without a save mode, a statement writes the rows, so both are unknown."""
        if self.save_mode is None:
            return TargetOrder()
        mode, target = self._write_mode, "\0".join(self._path(schema))
        if schema.root is not None or (mode is not None and (mode.collects or mode.matches_whole_rows(schema))):
            return TargetOrder(target=target)
        key = tuple(self._key_of(schema))
        order = RowOrder.KEY if key else RowOrder.NONE
        return TargetOrder(target=target, order=order, key=key, one_row_per_key=bool(key))

    @property
    def save_mode(self) -> SaveMode | None:
        data, schema = self.options[DATA_SAVE_MODE.key], self.options[SCHEMA_SAVE_MODE.key]
        does = [data] if data != "APPEND_DATA" else []
        actions = ", ".join(does + [schema] * (schema == "RECREATE_SCHEMA"))
        return SaveMode(target=self.where, does=actions, search_path=self._search_path)

    @property
    def empties(self) -> bool:
        """True if the save mode changes existing tables."""
        mode = self.save_mode
        return mode is not None and bool(mode.does)

    def prepare(self, context: SinkContext) -> None:
        self.driver.save_mode_due = False

    def apply_save_mode(self, context: SinkContext) -> None:
        """Record that the save mode is due. ``create_tables`` applies it, because the tables are not known earlier."""
        self.driver.save_mode_due, self.driver.treated = True, set()

    def require_creatable(self, named: str, who: str = "") -> None:
        """Raise ``SinkError`` if ``schema_save_mode`` requires the table to exist; its message starts with ``who``."""
        mode = self.options[SCHEMA_SAVE_MODE.key]
        if mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
            raise SinkError(f"{who}{missing_table(named, mode)}")

    def note_rows(self, schema: TableSchema, rows: str) -> None:
        """Record that the job adds to existing rows; ``rows`` is for example ``the table orders, which had rows``."""
        self.adds_to = {schema.table: rows, **self.adds_to}

    def require_prepared(self, schemas: Sequence[TableSchema]) -> None:
        """Raise ``SinkError`` unless ``create_tables`` has prepared these tables."""
        for schema in schemas:
            if schema.table not in self._targets:
                raise not_prepared(schema.table)
