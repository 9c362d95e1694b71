"""The options of ``FakeSource``, with SeaTunnel's names; ``seed`` is ours."""

from typing import Any

from seatunnel_core.config.option import (
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
from seatunnel_core.connectors.tables import TABLES, tables_option
from seatunnel_core.rows.types import LARGEST_DIMENSION

LONGEST = 10_000
"""Of what has a length or a size."""

SCHEMA_BLOCK = Option("schema", SCHEMA, required=True, unless=(TABLES,), doc="The columns and their types.")
TABLE_NAMES = Option(
    "table-names", LIST(STRING), doc="Several tables of the same columns: their names, in place of schema.table."
)
ROWS = Option(
    "rows",
    ANY,
    doc="The rows, [{ kind = INSERT, fields = [1, a] }, ...], once per parallel reader, in place of row.num. "
    "Fields may be a block by name; CURRENT_DATE, CURRENT_TIME and CURRENT_TIMESTAMP are the moment of the start.",
)
ROW_NUM = Option("row.num", within(0, 2**62), default=5, unit="rows", doc="How many rows each parallel reader makes.")
SPLIT_NUM = Option("split.num", within(1, 2**31 - 1), default=1, doc="How many splits each parallel reader has.")
READ_INTERVAL = Option(
    "split.read-interval",
    DURATION_MS,
    default=1,
    unit="ms",
    doc="How long each split waits before its rows come; in a streaming job, the time from split to split of a reader.",
)
SEED = Option("seed", LONG, default=0, doc="Another seed gives other values; the same one always gives the same.")
AUTO_INCREMENT = Option(
    "auto.increment.enabled",
    BOOLEAN,
    default=False,
    doc="Whether a column of type int or bigint counts the rows, rather than having values at random: the one of the "
    "primary key, else the first.",
)
AUTO_INCREMENT_START = Option("auto.increment.start", LONG, default=1, doc="The first number of that column.")
MAP_SIZE = Option("map.size", within(0, LONGEST), default=5, doc="How many entries a map has.")
ARRAY_SIZE = Option("array.size", within(0, LONGEST), default=5, doc="How many elements an array has.")
BYTES_LENGTH = Option("bytes.length", within(0, LONGEST), default=5, unit="bytes", doc="How long bytes are.")
STRING_LENGTH = Option("string.length", within(0, LONGEST), default=5, unit="characters", doc="How long texts are.")

VECTOR_DIMENSION = Option(
    "vector.dimension",
    within(1, LARGEST_DIMENSION),
    default=4,
    doc="The dimension of vectors that have no columnScale; of a sparse one, how many of its values are not 0.",
)
BINARY_VECTOR_DIMENSION = Option(
    "binary.vector.dimension",
    within(8, LARGEST_DIMENSION),
    default=8,
    unit="bits",
    doc="The dimension of binary vectors that have no columnScale, a multiple of 8.",
)
VECTOR_MIN = Option("vector.float.min", NUMBER, default=0.0, doc="The smallest number in a vector.")
VECTOR_MAX = Option(
    "vector.float.max", NUMBER, default=3.4e38, doc="The largest number in a vector; 65504 in one of 16-bit floats."
)

WHOLE: dict[str, int] = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""The types of whole numbers, with their bits."""

FRACTIONS: dict[str, float] = {"float": 3.4e38, "double": 1.7e308}
"""The types of other numbers, with the largest value that comes by itself."""

PARTS: dict[str, tuple[int, int]] = {
    "date.year": (1, 9999),
    "date.month": (1, 12),
    "date.day": (1, 31),
    "time.hour": (0, 23),
    "time.minute": (0, 59),
    "time.second": (0, 59),
}
"""The parts of dates, times and timestamps, with the smallest and the largest value of each."""


def _range(name: str, of: OptionType[Any], low: float, high: float) -> tuple[Option[Any], ...]:
    return (
        Option(f"{name}.min", of, default=low, doc=f"The smallest value of type {name}."),
        Option(f"{name}.max", of, default=high, doc=f"The largest value of type {name}."),
    )


def _choice(name: str, of: OptionType[Any]) -> tuple[Option[Any], ...]:
    return (
        Option(f"{name}.template", LIST(of), doc=f"The values from which those of type {name} are chosen."),
        Option(
            f"{name}.fake.mode",
            ENUM("range", "template"),
            doc=f"Whether values of type {name} come from the range or the template; the template when there is one.",
        ),
    )


def _part(name: str, low: int, high: int) -> Option[Any]:
    of, part = name.split(".")
    what = f"{'dates' if of == 'date' else 'times'} and timestamps"
    return Option(
        f"{name}.template", LIST(within(low, high)), doc=f"The values from which the {part} of {what} is chosen."
    )


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
