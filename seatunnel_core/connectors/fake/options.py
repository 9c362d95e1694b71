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
    within,
)

SCHEMA_BLOCK = Option("schema", SCHEMA, required=True, doc="The columns and their types.")
ROWS = Option(
    "rows",
    ANY,
    doc="The rows, [{ kind = INSERT, fields = [1, a] }, ...], once per parallel reader, in place of row.num.",
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
    doc="Whether the first column of type int or bigint counts the rows, rather than having values at random.",
)
AUTO_INCREMENT_START = Option("auto.increment.start", LONG, default=1, doc="The first number of that column.")
MAP_SIZE = Option("map.size", within(0, 10_000), default=5, doc="How many entries a map has.")
ARRAY_SIZE = Option("array.size", within(0, 10_000), default=5, doc="How many elements an array has.")
BYTES_LENGTH = Option("bytes.length", within(0, 10_000), default=5, unit="bytes", doc="How long bytes are.")
STRING_LENGTH = Option("string.length", within(0, 10_000), default=5, unit="characters", doc="How long texts are.")

_LIMITS: dict[str, tuple[float, float]] = {
    "tinyint": (0, 2**7 - 1),
    "smallint": (0, 2**15 - 1),
    "int": (0, 2**31 - 1),
    "bigint": (0, 2**63 - 1),
    "float": (0.0, 3.4e38),
    "double": (0.0, 1.7e308),
}


def _of_type(name: str, low: float, high: float) -> tuple[Option[Any], ...]:
    number = NUMBER if isinstance(low, float) else LONG
    return (
        Option(f"{name}.min", number, default=low, doc=f"The smallest value of type {name}."),
        Option(f"{name}.max", number, default=high, doc=f"The largest value of type {name}."),
    )


def _choice(name: str, of: Any) -> tuple[Option[Any], ...]:
    return (
        Option(f"{name}.template", LIST(of), doc=f"The values from which those of type {name} are chosen."),
        Option(
            f"{name}.fake.mode",
            ENUM("range", "template"),
            doc=f"Whether values of type {name} come from the range or the template; the template when there is one.",
        ),
    )


FAKE_OPTIONS: tuple[Option[Any], ...] = (
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
    *(option for name, (low, high) in _LIMITS.items() for option in _of_type(name, low, high)),
    *(
        option
        for name, of in [
            ("string", STRING),
            *((name, NUMBER if name in ("float", "double") else LONG) for name in _LIMITS),
        ]
        for option in _choice(name, of)
    ),
)
