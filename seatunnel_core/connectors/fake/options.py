"""The options of ``FakeSource``, with SeaTunnel's names, and ``seed``, which SeaTunnel does not have."""

from typing import Any

from seatunnel_core.connector_api.option import (
    ANY,
    BOOLEAN,
    DURATION_MS,
    ENUM,
    LIST,
    LONG,
    NUMBER,
    SCHEMA,
    STRING,
    Option,
    OptionType,
    within,
)
from seatunnel_core.connector_api.several_tables import TABLES, tables_option
from seatunnel_core.rows.types import LARGEST_DIMENSION

LONGEST = 10_000
"""Largest allowed value of an option that sets a length or a size."""

SCHEMA_BLOCK = Option("schema", SCHEMA, required=True, unless=(TABLES,), doc="Columns and their types.")
TABLE_NAMES = Option(
    "table-names", LIST(STRING), doc="Names of several tables with the same columns, instead of schema.table."
)
ROWS = Option(
    "rows",
    ANY,
    doc=(
        "Rows to emit once per parallel reader, instead of row.num generated ones: [{ kind = INSERT, fields = [1, a] "
        "}, ...]. fields may also be a block of names and values. CURRENT_DATE, CURRENT_TIME and CURRENT_TIMESTAMP "
        "stand for the start time."
    ),
)
ROW_NUM = Option("row.num", within(0, 2**62), default=5, unit="rows", doc="Number of rows per parallel reader.")
SPLIT_NUM = Option("split.num", within(1, 2**31 - 1), default=1, doc="Number of splits per parallel reader.")
READ_INTERVAL = Option(
    "split.read-interval",
    DURATION_MS,
    default=1,
    unit="ms",
    doc="Delay before the rows of each split; in a streaming job, the interval between splits of a reader.",
)
SEED = Option("seed", LONG, default=0, doc="Seed of the generated values: the same seed gives the same values.")
AUTO_INCREMENT = Option(
    "auto.increment.enabled",
    BOOLEAN,
    default=False,
    doc="True if an int or bigint column contains consecutive numbers instead of random values: the primary key, "
    "else the first such column.",
)
AUTO_INCREMENT_START = Option("auto.increment.start", LONG, default=1, doc="First number of the auto-increment column.")
MAP_SIZE = Option("map.size", within(0, LONGEST), default=5, doc="Number of entries of a map.")
ARRAY_SIZE = Option("array.size", within(0, LONGEST), default=5, doc="Number of elements of an array.")
BYTES_LENGTH = Option("bytes.length", within(0, LONGEST), default=5, unit="bytes", doc="Length of bytes values.")
STRING_LENGTH = Option("string.length", within(0, LONGEST), default=5, unit="characters", doc="Length of strings.")

VECTOR_DIMENSION = Option(
    "vector.dimension",
    within(1, LARGEST_DIMENSION),
    default=4,
    doc="Dimension of vectors without columnScale; for a sparse vector, its number of non-zero values.",
)
BINARY_VECTOR_DIMENSION = Option(
    "binary.vector.dimension",
    within(8, LARGEST_DIMENSION),
    default=8,
    unit="bits",
    doc="Dimension of binary vectors without columnScale, a multiple of 8.",
)
VECTOR_MIN = Option("vector.float.min", NUMBER, default=0.0, doc="Smallest number in a vector.")
VECTOR_MAX = Option(
    "vector.float.max", NUMBER, default=3.4e38, doc="Largest number in a vector; 65504 for 16-bit floats."
)

WHOLE: dict[str, int] = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""Integer types, with their sizes in bits."""

FRACTIONS: dict[str, float] = {"float": 3.4e38, "double": 1.7e308}
"""Other numeric types, with their default maximum value."""

PARTS: dict[str, tuple[int, int]] = {
    "date.year": (1, 9999),
    "date.month": (1, 12),
    "date.day": (1, 31),
    "time.hour": (0, 23),
    "time.minute": (0, 59),
    "time.second": (0, 59),
}
"""Parts of dates, times and timestamps, with their minimum and maximum values."""


def _range(name: str, of: OptionType[Any], low: float, high: float) -> tuple[Option[Any], ...]:
    return (
        Option(f"{name}.min", of, default=low, doc=f"Smallest value of type {name}."),
        Option(f"{name}.max", of, default=high, doc=f"Largest value of type {name}."),
    )


def _choice(name: str, of: OptionType[Any]) -> tuple[Option[Any], ...]:
    return (
        Option(f"{name}.template", LIST(of), doc=f"Values to choose from for type {name}."),
        Option(
            f"{name}.fake.mode",
            ENUM("range", "template"),
            doc=f"Mode for values of type {name}: from the range or from the template. The default is the "
            "template, if set.",
        ),
    )


def _part(name: str, low: int, high: int) -> Option[Any]:
    of, part = name.split(".")
    what = f"{'dates' if of == 'date' else 'times'} and timestamps"
    return Option(f"{name}.template", LIST(within(low, high)), doc=f"Values to choose from for the {part} of {what}.")


_OF_TYPE: dict[str, OptionType[Any]] = {
    **{name: within(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in WHOLE.items()},
    **dict.fromkeys(FRACTIONS, NUMBER),
}

OF_A_TABLE: tuple[Option[Any], ...] = (
    SCHEMA_BLOCK,
    ROWS,
    ROW_NUM,
    SPLIT_NUM,
    READ_INTERVAL,
    SEED,
    AUTO_INCREMENT,
    AUTO_INCREMENT_START,
    MAP_SIZE,
    ARRAY_SIZE,
    BYTES_LENGTH,
    STRING_LENGTH,
    VECTOR_DIMENSION,
    BINARY_VECTOR_DIMENSION,
    VECTOR_MIN,
    VECTOR_MAX,
    *(option for name, bits in WHOLE.items() for option in _range(name, _OF_TYPE[name], 0, 2 ** (bits - 1) - 1)),
    *(option for name, most in FRACTIONS.items() for option in _range(name, NUMBER, 0.0, most)),
    *(option for name, of in {"string": STRING, **_OF_TYPE}.items() for option in _choice(name, of)),
    *(_part(name, low, high) for name, (low, high) in PARTS.items()),
)
FAKE_OPTIONS: tuple[Option[Any], ...] = (*OF_A_TABLE, TABLE_NAMES, tables_option(OF_A_TABLE))
