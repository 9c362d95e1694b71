"""The kit's suites on the file formats that need a library of their own, and what holds for each of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from seatunnel_core.connectors.source import Planning
from seatunnel_core.connectors.testing import plan, read
from tests.connectors.test_kit_on_built_in import OfFiles, OfTheFileSink


class InEveryShape(OfFiles):
    """The same rows, however the work is cut (kept apart from the kit, which has one shape)."""

    @pytest.mark.parametrize("parallelism", [1, 2, 8])
    def test_the_rows_do_not_depend_on_the_parallelism(self, parallelism: int) -> None:
        source = self.source()
        found = read(source, plan(source, Planning(parallelism=parallelism)))
        assert sorted(found, key=lambda row: row["id"]) == list(self.expected())


class TestOrc(InEveryShape):
    format = "orc"
    more: ClassVar[Mapping[str, Any]] = {}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Many stripes: one is not smaller than a batch of the writer."""
        table = pa.Table.from_pylist(list(rows), pa.schema([("id", pa.int64()), ("name", pa.string())]))
        with orc.ORCWriter(path, batch_size=20, stripe_size=1) as writer:
            writer.write(table)


class TestOrcSink(OfTheFileSink):
    format = "orc"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return orc.ORCFile(path).read().to_pylist()  # type: ignore[no-any-return]
