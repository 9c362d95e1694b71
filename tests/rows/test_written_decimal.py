"""Numbers of JSON keep their spelling where they become texts, wherever they are read."""

import copy
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from seatunnel_core.rows import json_document
from seatunnel_core.rows.inference.fitting import text_of
from seatunnel_core.rows.inference.kinds import kind_of
from seatunnel_core.rows.lax_json import lax
from seatunnel_core.rows.native_json import NativeJson, parsed
from seatunnel_core.rows.values import converter
from seatunnel_core.rows.written_decimal import WrittenDecimal

WRITTEN = ["1e2", "1.50", "1E5", "-0.0", "-0", "1e-7", "0.10e+1", "12345678901234567890123456789.10", "100"]


@pytest.mark.parametrize("number", WRITTEN)
def test_a_number_is_the_text_that_it_was(number: str) -> None:
    """``1e2`` was ``1E+2``."""
    nested = f'{{"x":[{number},{{"y":{number}}}]}}'
    for document in (parsed, lambda text: json_document.exact(json_document.parsed(text))):
        for text in (text_of, converter(pa.string())):
            assert text(document(number.encode())) == number
            assert text(document(nested.encode())) == nested
    for text in (json_document.parsed(number), json_document.parsed(nested), lax(f"{{x: [{number}]}}")):
        assert converter(pa.string())(text) in (number, nested, f'{{"x":[{number}]}}')
    lines = f'{{"n":1,"v":{number}}}\n{{"n":2,"v":"x"}}'.encode()
    found = NativeJson(pa.schema([("n", pa.int64()), ("v", pa.string())]), converter).rows(lines)
    assert found is not None
    assert found.column("v").to_pylist() == [number, "x"]
    rows = converter(pa.struct([("v", pa.string())]))(f'{{"v":{number}}}')
    assert rows == {"v": number}


def test_it_is_the_number_everywhere_else() -> None:
    number = parsed(b"1.50e1")
    assert number == Decimal(15) == WrittenDecimal("15")
    assert hash(number) == hash(Decimal(15))
    assert kind_of(number) == kind_of(Decimal("1.5"))
    assert str(number + 1) == "16.0"
    assert f"{number:f}" == "15.0"
    assert [str(copy.deepcopy(number)), str(pickle.loads(pickle.dumps(number)))] == ["1.50e1"] * 2
    for kind, value in ((pa.decimal128(8, 2), Decimal("15.00")), (pa.float64(), 15.0), (pa.int32(), 15)):
        assert pa.array([converter(kind)(number)], kind).to_pylist() == [value]


def test_a_number_that_no_double_holds_keeps_its_spelling() -> None:
    assert text_of(parsed(b"1E400")) == "1E400"
    assert text_of(json_document.exact(json_document.parsed("1E400"))) == "1E400"
    assert converter(pa.string())(json_document.parsed("1E400")) == "1E400"  # it was Infinity
