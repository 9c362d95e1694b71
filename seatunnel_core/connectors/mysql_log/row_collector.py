"""Rows of a table, before conversion to Arrow."""

import struct
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.jdbc.fetched import misfits_of
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.change_batch import LogTable, TableChanges
from seatunnel_core.connectors.mysql_log.column_types import JSON
from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.mysql_log.fields import packed_at
from seatunnel_core.connectors.mysql_log.row_block import ImageFinder, columns_in
from seatunnel_core.connectors.mysql_log.row_program import Image, RowProgram, compiled, stored
from seatunnel_core.connectors.mysql_log.values.converted import Values
from seatunnel_core.rows.kind import RowKind

_KINDS = {
    **dict.fromkeys(et.INSERTS, (RowKind.INSERT,)),
    **dict.fromkeys(et.UPDATES, (RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER)),
    **dict.fromkeys(et.DELETES, (RowKind.DELETE,)),
}
"""Row kinds of the images of a row, keyed by event type."""

_FEW_IMAGES = 200
"""Number of images below which reading each value separately is faster."""

_MOST_BLOCK_BYTES = 1 << 30
"""Maximum size of images that are decoded together, in bytes; limited by Arrow's 32-bit offsets."""

_RUN = struct.Struct("=5q").pack
"""Packs the numbers of an event in ``RowCollector._runs``."""


@frozen(eq=False)
class Layout:
    """Columns in the row images of an event, with the compiled reader for these images."""

    number: int
    kinds: tuple[RowKind, ...]
    images: int
    """Number of images per row."""

    present: tuple[tuple[bool, ...], ...]
    """For each image, a mask of the columns that it contains."""

    program: RowProgram
    nowhere: tuple[int, ...]
    """Indexes of columns that no image contains."""

    whole: bool
    """True if the images contain all columns and JSON documents are not updated partially."""


@define(eq=False)
class RowCollector:
    """Collects the rows of one schema version of a table.

    Events are stored undecoded, and ``taken`` decodes them together. After the first event that does not allow this
    (see ``Layout.whole``), events are decoded one by one until the next call to ``taken``.
    """

    table: LogTable
    rows: int = 0
    _layouts: dict[tuple[int, bytes], Layout] = field(init=False, factory=dict)
    _by_number: list[Layout] = field(init=False, factory=list)
    _finder: ImageFinder = field(init=False)
    _kept: list[bytes] = field(init=False, factory=list)
    """Images of each stored event."""

    _kept_bytes: int = field(init=False, default=0)
    _images: list[int] = field(init=False, factory=list)
    """Offset of each stored image in the buffer of its event."""

    _values: list[list[Any]] = field(init=False, factory=list)
    """Values of decoded rows by column."""

    _appends: list[Any] = field(init=False, factory=list)
    _runs: bytearray = field(init=False, factory=bytearray)
    """For each event: its layout, number of rows, event number, transaction number and offset.

    Packed, because a tuple for each event would slow down the garbage collector.
    """

    _is_kept: bool = field(init=False, default=True)
    """True while all events are stored undecoded."""

    head_bytes: int = field(init=False)
    """Size of the column count and the bitmap of present columns in a row event, in bytes."""

    update_head_bytes: int = field(init=False)
    """Size of the column count and both bitmaps of present columns in an update event, in bytes."""

    def __attrs_post_init__(self) -> None:
        count = len(self.table.logged)
        self.head_bytes = (1 if count < 251 else 3) + (count + 7) // 8
        self.update_head_bytes = self.head_bytes + (count + 7) // 8
        self._finder = ImageFinder([stored(each.raw, unsigned=each.unsigned) for each in self.table.logged])
        self._empty()

    def _empty(self) -> None:
        self._kept, self._kept_bytes, self._images = [], 0, []
        self._values = [[] for _ in self.table.logged]
        self._appends = [each.append for each in self._values]
        self._runs, self._is_kept, self.rows = bytearray(), True, 0

    def layout(self, kind: int, head: bytes) -> Layout:
        """Return the layout of an event, given its type and its head: the column count and the bitmaps."""
        found = self._layouts.get((kind, head))
        if found is None:
            found = self._layouts[kind, head] = self._compiled(kind, head)
            self._by_number.append(found)
        return found

    def add(self, layout: Layout, data: bytes, start: int, end: int, event: tuple[int, int, int]) -> int:
        """Add the rows of an event, and return their number. An update counts as two rows.

        Args:
            layout: The layout of the event.
            data: A buffer.
            start: Offset of the rows in the buffer.
            end: Offset after the rows.
            event: Number of the event, number of its transaction, and offset of the event in the log.

        Raises:
            MalformedLogError: The rows do not end at the end of the event.
        """
        if layout.whole and self._is_kept and self._kept_bytes + end - start <= _MOST_BLOCK_BYTES:
            images = self._keep(layout, data, start, end)
        else:
            self._decode_kept()
            images = self._decode(layout, data, start, end)
        self._runs += _RUN(layout.number, images, *event)
        self.rows += images
        return images

    def _keep(self, layout: Layout, data: bytes, start: int, end: int) -> int:
        part = data[start:end]
        count, at = self._finder.images(part, self._images)
        if at != len(part) or not count or count % layout.images:
            raise self._incomplete()
        self._kept.append(part)
        self._kept_bytes += at
        return count

    def _decode(self, layout: Layout, data: bytes, start: int, end: int) -> int:
        rows, at = layout.program(data, start, end, self._appends)
        if at != end or not rows:
            raise self._incomplete()
        images = rows * layout.images
        if layout.nowhere:
            for column in layout.nowhere:
                self._values[column].extend(repeat(None, images))
        return images

    def _decode_kept(self) -> None:
        """Decode the stored events one by one."""
        if not self._is_kept:
            return
        for data, number in zip(self._kept, self._unpacked_runs()[:, 0].tolist(), strict=False):
            self._decode(self._by_number[number], data, 0, len(data))
        self._kept, self._kept_bytes, self._images, self._is_kept = [], 0, [], False

    def _unpacked_runs(self) -> npt.NDArray[np.int64]:
        return np.frombuffer(bytes(self._runs), np.int64).reshape(-1, 5)

    def _incomplete(self) -> MalformedLogError:
        return MalformedLogError(f"the rows of {self._name} are incomplete, or longer than their event")

    def _columns(self) -> Sequence[Values]:
        """Return the values of all rows, by column."""
        if not self._is_kept or self.rows < _FEW_IMAGES:
            self._decode_kept()
            return self._values
        sizes = np.fromiter(map(len, self._kept), np.int64, len(self._kept))
        begins = np.repeat(np.cumsum(sizes) - sizes, self._unpacked_runs()[:, 1])
        return columns_in(self._kept, begins + np.array(self._images, np.int64), self._finder.forms)

    def taken(self) -> TableChanges:
        """Return the rows as Arrow data, and remove them."""
        arrays, misfits = [], list[tuple[str, Mapping[int, str]]]()
        for column, values in zip(self.table.logged, self._columns(), strict=True):
            if column.hidden:
                continue
            try:
                array, wrong = column.convert(values)
            except LogError as error:
                raise type(error)(f"{self._name}, column {column.name}: {error}") from None
            arrays.append(array)
            misfits.append((column.name, wrong))
        runs = self._unpacked_runs()
        kinds, layout = self._kinds_and_layouts(runs)
        visible = [number for number, column in enumerate(self.table.logged) if not column.hidden]
        found = TableChanges(
            table=self.table,
            rows=pa.RecordBatch.from_arrays(arrays, schema=self.table.schema),
            kinds=kinds,
            transactions=np.repeat(runs[:, 3], runs[:, 1]),
            events=np.repeat(runs[:, 2], runs[:, 1]),
            offsets=np.repeat(runs[:, 4], runs[:, 1]),
            layouts=np.array([each for one in self._by_number for each in one.present], bool)[:, visible],
            layout=layout,
            misfits=misfits_of(misfits),
        )
        self._empty()
        return found

    @property
    def _name(self) -> str:
        return f"{self.table.database}.{self.table.name}"

    def _kinds_and_layouts(self, runs: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
        """Return the kind and the layout index of each row. The two images of an update alternate."""
        firsts, kinds, number = [], list[RowKind](), 0
        for layout in self._by_number:
            firsts.append(number)
            kinds += layout.kinds
            number += len(layout.kinds)
        images = np.array([len(layout.kinds) for layout in self._by_number])
        of_run = runs[:, 0]
        starts = np.repeat(np.cumsum(runs[:, 1]) - runs[:, 1], runs[:, 1])
        within = (np.arange(self.rows) - starts) % np.repeat(images[of_run], runs[:, 1])
        layout_index = np.repeat(np.array(firsts)[of_run], runs[:, 1]) + within
        return np.array(kinds, np.int8)[layout_index], layout_index.astype(np.int32)

    def _compiled(self, kind: int, head: bytes) -> Layout:
        columns = self.table.logged
        count, at = packed_at(head, 0)
        if count != len(columns):
            raise MalformedLogError(
                f"the rows of {self._name} have {count} columns, but the table map has {len(columns)}"
            )
        kinds, size = _KINDS[kind], (count + 7) // 8
        present = [
            tuple(bool(head[at + image * size + n // 8] >> n % 8 & 1) for n in range(count))
            for image in range(len(kinds))
        ]
        if not any(any(each) for each in present):
            raise MalformedLogError(f"the rows of {self._name} contain no columns")
        images = [self._image(each) for each in present]
        if kind == et.PARTIAL_UPDATE_ROWS:
            documents = tuple(n for n, column in enumerate(columns) if column.raw.type == JSON)
            images[1] = Image(images[1].present, images[1].forms, documents, images[0].present)
        absent = [[n for n in range(count) if not one[n] and any(other[n] for other in present)] for one in present]
        return Layout(
            number=len(self._by_number),
            kinds=kinds,
            images=len(kinds),
            present=tuple(present),
            program=compiled(images, absent, count),
            nowhere=tuple(n for n in range(count) if not any(each[n] for each in present)),
            whole=kind != et.PARTIAL_UPDATE_ROWS and all(map(all, present)),
        )

    def _image(self, present: Sequence[bool]) -> Image:
        numbers = tuple(number for number, here in enumerate(present) if here)
        columns = self.table.logged
        return Image(numbers, tuple(stored(columns[n].raw, unsigned=columns[n].unsigned) for n in numbers))
