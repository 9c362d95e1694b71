"""Functions of one row as transforms: rows that go on, are left out or become several, and values that do not fit."""

import inspect
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import seatunnel_core as st
from seatunnel_core.connector_api.testing.drive import options_of
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.python import PythonFunction

ROWS = pa.RecordBatch.from_pylist([{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": "c"}])


def given(function: Any, rows: pa.RecordBatch = ROWS) -> pa.Table:
    """What a function makes of rows, with the columns that are planned for them."""
    made = PythonFunction(options_of(PythonFunction, function.options()))
    schema = made.output_schema(TableSchema(table="t", columns=rows.schema))
    return pa.Table.from_batches([batch.rows for batch in made.apply(Batch(table="t", rows=rows))], schema.columns)


@st.transform
def odd(row: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the odd ones."""
    return row if row["n"] % 2 else None


def test_a_row_goes_on_or_is_left_out() -> None:
    assert given(odd).to_pylist() == [{"n": 1, "s": "a"}, {"n": 3, "s": "c"}]
    assert given(st.transform(lambda _: None)).num_rows == 0
    assert odd({"n": 2}) is None
    assert (odd.name, odd.__doc__, list(inspect.signature(odd).parameters)) == ("odd", "Keep the odd ones.", ["row"])
    assert repr(odd) == f"<transform {__name__}:odd>"


def test_a_row_becomes_several_with_columns_that_are_declared() -> None:
    @st.transform(schema={"m": "double"})
    def repeated(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for _ in range(row["n"] - 1):
            yield {"m": row["n"]}

    assert given(repeated) == pa.table({"m": [2.0, 3.0, 3.0]})


def test_values_of_every_type_go_through_as_they_are() -> None:
    kinds = {
        "tiny": (pa.int8(), -128),
        "float": (pa.float32(), 0.1),
        "decimal": (pa.decimal128(20, 3), Decimal("1.250")),
        "date": (pa.date32(), date(2024, 2, 29)),
        "moment": (pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 1, 2, 3, 4, UTC)),
        "local": (pa.timestamp("us"), datetime(1, 1, 1)),
        "map": (pa.map_(pa.string(), pa.int32()), {"a": 1}),
        "row": (pa.struct([("a", pa.list_(pa.int16()))]), {"a": [1, None]}),
        "vector": (pa.list_(pa.float32(), 2), [1.5, 2.5]),
        "bytes": (pa.binary(), b"\xff"),
        "nothing": (pa.null(), None),
    }
    rows = pa.record_batch({name: pa.array([value, None], kind) for name, (kind, value) in kinds.items()})
    assert given(st.transform(lambda row: row), rows).equals(pa.Table.from_batches([rows]))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda row: {**row, "new": 1},
            r"row 1: the key 'new' is not a column: .*declare different columns with @st.transform\(schema=…\)",
        ),
        (lambda row: {**row, "n": 1.5}, "row 1, key 'n': found a float, but the column is declared as bigint"),
        (lambda row: {**row, "n": str(row["n"])}, "row 1, key 'n': found a str"),
        (lambda _: [5], "row 1 is an int; expected a mapping"),
        (lambda row: row["no"], "failed with KeyError: 'no'"),
        (lambda _: 5, "failed with TypeError"),
    ],
)
def test_what_does_not_fit_is_named(function: Any, said: str) -> None:
    with pytest.raises(TransformError, match=said) as caught:
        given(st.transform(function))
    assert f"{__name__}:" in str(caught.value)


def test_only_functions_are_decorated_and_only_decorated_ones_are_taken() -> None:
    with pytest.raises(st.UsageError, match=r"@st.transform decorates a function of one row; found 5"):
        st.transform(5)  # type: ignore[call-overload]
    with pytest.raises(st.UsageError, match=r"<lambda>: schema: column 'm': 'no' is not a type"):
        st.transform(schema={"m": "no"})(lambda row: row).options()
    rows = st.Job("x").source("FakeSource")
    assert [rows.transform(odd).name, rows.transform(odd).name] == ["odd", "Python-transform-2"]
    with pytest.raises(st.UsageError, match=r"name of a transform plugin, or a function decorated with @st.transform"):
        rows.transform(odd.function)  # type: ignore[arg-type]
