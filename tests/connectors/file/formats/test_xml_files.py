"""XML files: values as elements and as attributes, and files that are not what they should be."""

import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import Skipped, read
from seatunnel_core.connectors.file.formats import xml
from seatunnel_core.errors import RowError, SinkError, SourceError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.file import local_files
from tests.connectors.file.local_files import TYPES, a_row

FIELDS = {"fields": {"id": "int", "name": "string"}}

source = partial(local_files.source, file_format_type="xml", xml_row_tag="row", schema=FIELDS)
sink = partial(local_files.sink, file_format_type="xml")
write = partial(local_files.write, file_format_type="xml")


def of(path: Path, text: str | bytes, context: Skipped | None = None, **options: Any) -> list[tuple[Any, ...]]:
    (path / "a.xml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return [tuple(row.values()) for row in read(source(path, **options), context=context)]


@pytest.mark.parametrize("attributes", [False, True])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_every_type_comes_back(tmp_path: Path, attributes: bool, codec: str) -> None:
    chance = random.Random(1)
    signs = "ab <>&\"'\n\r\t]]>ñ漢\U0001f600"
    rows = [*(a_row(chance, signs=signs) for _ in range(100)), dict.fromkeys(TYPES)]
    shape = {"xml_row_tag": "item", "xml_use_attr_format": attributes, "compress_codec": codec}
    write(tmp_path, TYPES, rows, xml_root_tag="items", **shape)
    assert read(source(tmp_path, schema={"fields": TYPES}, **shape)) == rows


def test_rows_are_found_at_any_depth_and_all_else_is_left_out(tmp_path: Path) -> None:
    text = """<?xml version="1.0"?><!DOCTYPE all><x:all xmlns:x="u"><!-- c --><more>
      <x:row kind="k"><id> 1 </id>text<name><![CDATA[a<b]]>&amp;<deep>c</deep></name><other>1</other></x:row>
      <row/><row><name></name><id></id></row></more></x:all>"""
    assert of(tmp_path, text) == [(1, "a<b&c"), (None, None), (None, "")]


def test_an_element_that_says_that_it_is_nil_is_null(tmp_path: Path) -> None:
    """It was the empty text."""
    text = """<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><row><id>1</id><name xsi:nil="true"/></row>
      <row><id xsi:nil="1"/><name xsi:nil="false">x</name></row><row><id/><name/></row></a>"""
    assert of(tmp_path, text) == [(1, None), (None, "x"), (None, "")]


class Noted(Skipped):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[str, str]] = []

    def note(self, what: str, example: str, rows: int = 1) -> None:
        self.notes.append((what, example))


def test_an_element_more_than_once_is_an_array_or_its_last_value_and_no_other_element_counts(tmp_path: Path) -> None:
    """It was an error of the whole file, also of an element that the schema does not name; SeaTunnel takes the last."""
    text = """<all><row><id>1</id><tag>a</tag><id>2</id><tag>[b]</tag><beside/><beside/></row>
      <row><tag>a, b</tag></row><row><tag>["c", "d"]</tag></row><row><tag/></row></all>"""
    noted = Noted()
    schema = {"fields": {"id": "int", "tag": "array<string>"}}
    assert of(tmp_path, text, noted, schema=schema) == [
        *((2, ["a", "[b]"]), (None, ["a, b"]), (None, ["c", "d"]), (None, None)),
    ]
    (note,) = noted.notes
    assert note[0].startswith("contain the element <id> more than once; the last one is used")
    assert note[1].endswith("a.xml, line 1, element <row>")
    numbers = {"fields": {"tag": "array<int>"}}
    assert of(tmp_path, "<all><row><tag>1</tag><tag>2</tag></row></all>", schema=numbers) == [([1, 2],)]


@pytest.mark.parametrize(
    ("row", "options", "expected"),
    [
        ("<x:row><x:id>1</x:id><x:name>a</x:name></x:row>", {}, (1, "a")),
        ('<x:row x:id="1" x:name="a" xmlns:name="v"/>', {"xml_use_attr_format": True}, (1, "a")),
        ("<x:row><x:id>1</x:id><name>a</name><y:other>3</y:other></x:row>", {}, (1, "a")),
        ("<row><id>7</id><x:id>1</x:id></row>", {"schema": {"fields": {"x:id": "int", "id": "int"}}}, (1, 7)),
    ],
)
def test_elements_and_attributes_are_found_by_their_names_without_a_prefix(
    tmp_path: Path, row: str, options: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """Rows of a document with namespaces had null in every column."""
    assert of(tmp_path, f'<x:all xmlns:x="u" xmlns:y="v">{row}</x:all>', **options) == [expected]


def test_values_may_be_attributes(tmp_path: Path) -> None:
    text = '<all><row id="1" name="a&#10;b" other="x"><name>no</name></row><row name=""/></all>'
    assert of(tmp_path, text, xml_use_attr_format=True) == [(1, "a\nb"), (None, "")]


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "gbk"])
def test_encodings(tmp_path: Path, encoding: str, declared: bool) -> None:
    """The declaration is enough where the parser knows the encoding; the option always is."""
    name = "漢" if encoding == "gbk" else "ñ"
    head = f'<?xml version="1.0" encoding="{encoding}"?>' if declared else ""
    text = f"{head}<all><row><id>1</id><name>{name}</name></row></all>".encode(encoding)
    assert of(tmp_path, text, encoding=encoding) == [(1, name)]
    if declared and encoding != "gbk":
        assert of(tmp_path, text) == [(1, name)]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "x">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1/x"> %a;',
        '<!ENTITY a0 "ha"><!ENTITY a "&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;&a0;">',
    ],
)
def test_entities_are_refused(tmp_path: Path, declaration: str) -> None:
    text = f"<!DOCTYPE all [{declaration}]>\n<all><row><name>&a;</name></row></all>"
    with pytest.raises(RowError, match=r"a\.xml, line 1: invalid XML: the file declares an entity"):
        of(tmp_path, text, Skipped(fail=False))


def test_a_file_of_many_pieces(tmp_path: Path) -> None:
    rows = "".join(f"<row><id>{number}</id><name>{'ñ' * (number % 99)}</name></row>\n" for number in range(9000))
    found = of(tmp_path, f"<all>{rows}</all>")
    assert found == [(number, "ñ" * (number % 99)) for number in range(9000)]


def test_a_bad_value_names_line_element_column_value_and_type(tmp_path: Path) -> None:
    text = "<all>\n<row><id>1</id></row>\n<row>\n<id>x</id></row>\n<row><id>3</id></row></all>"
    with pytest.raises(RowError, match=r"a\.xml, line 3, element <row>, column 'id': 'x' is not of type int"):
        of(tmp_path, text)
    skipped = Skipped(fail=False)
    assert of(tmp_path, text, skipped) == [(1, None), (3, None)]
    assert len(skipped.errors) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<all>\n<row>\n</all>", r"a\.xml, line 3: .* mismatched tag"),
        ("<all><row>", r"line 1: .* no element found"),
        ("id,name\n1,a\n", r"line 1: .* syntax error"),
        (b"\x00\xff\x00\xff", r"line 1: "),
    ],
)
def test_what_is_not_xml_is_an_error_that_says_where(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(RowError, match=message):
        of(tmp_path, text, Skipped(fail=False))


def test_a_row_that_is_too_long_to_be_held_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "LONGEST_ROW", 1000)
    with pytest.raises(RowError, match="the row that starts on line 2 has more than 1000 characters"):
        of(tmp_path, f"<all>\n<row><name>{'x' * 2000}</name></row></all>")


def test_what_is_missing_is_said_before_data_moves(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="option 'xml_row_tag': required for xml"):
        source(tmp_path, xml_row_tag="")
    with pytest.raises(UsageError, match="option 'schema': required for xml"):
        source(tmp_path, schema={})
    with pytest.raises(SourceError, match="encoding"):
        source(tmp_path, encoding="nonsense")
    with pytest.raises(UsageError, match="option 'xml_root_tag': 'a b' is not a valid element name"):
        sink(tmp_path, xml_root_tag="a b")
    schema = TableSchema(table="default", columns=pa.schema([("unit price", pa.int32())]))
    with pytest.raises(SinkError, match="column 'unit price' is not a valid name of an xml element"):
        sink(tmp_path).check_schema(schema)


def test_a_character_that_xml_cannot_hold_is_an_error_of_its_row(tmp_path: Path) -> None:
    with pytest.raises(
        RowError, match=r"column 'v': 'a\\x01' contains the character '\\x01', which XML cannot represent"
    ):
        write(tmp_path, {"v": "string"}, [{"v": "a\x01"}])
