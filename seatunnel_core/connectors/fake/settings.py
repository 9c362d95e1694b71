"""Options of ``FakeSource`` that depend on each other: ranges, templates and the dimensions of vectors."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.fake import options as opt
from seatunnel_core.connectors.fake.generate import Generator
from seatunnel_core.connectors.fake.moments import Parts
from seatunnel_core.rows.types import VECTORS
from seatunnel_core.rows.values import LARGEST_FLOAT

_NUMBERS = (*opt.WHOLE, *opt.FRACTIONS)


def generator(options: Options) -> Generator:
    """Return the generator that the options describe; raise ``UsageError`` if options contradict each other."""
    for name in (*_NUMBERS, "vector.float"):
        low, high = options[f"{name}.min"], options[f"{name}.max"]
        if low > high and options.is_set(f"{name}.min"):
            raise UsageError(f"option '{name}.min': {low} is greater than {name}.max, which is {high}")
        if low > high:
            raise UsageError(f"option '{name}.max': {high} is less than {name}.min, which is {low}")
    templates: dict[str, Sequence[Any]] = {name: _template(options, name) for name in ("string", *_NUMBERS)}
    for key in ("float.min", "float.max", "vector.float.min", "vector.float.max"):
        _check_float(key, options[key])
    for value in templates["float"]:
        _check_float("float.template", value)
    return Generator(
        seed=options[opt.SEED],
        limits={name: (options[f"{name}.min"], options[f"{name}.max"]) for name in _NUMBERS},
        templates=templates,
        string_length=options[opt.STRING_LENGTH],
        bytes_length=options[opt.BYTES_LENGTH],
        array_size=options[opt.ARRAY_SIZE],
        map_size=options[opt.MAP_SIZE],
        vector_limits=(options[opt.VECTOR_MIN], options[opt.VECTOR_MAX]),
        sparse_size=options[opt.VECTOR_DIMENSION],
        parts=_parts(options),
    )


def dimensions(options: Options) -> Mapping[str, int]:
    """Return the default dimensions of vector columns, keyed by type."""
    binary = options[opt.BINARY_VECTOR_DIMENSION]
    if binary % 8:
        raise UsageError(f"option 'binary.vector.dimension': expected a multiple of 8, found {binary}")
    return {**dict.fromkeys(VECTORS, options[opt.VECTOR_DIMENSION]), "binary_vector": binary}


def _template(options: Options, name: str) -> tuple[Any, ...]:
    template, mode = options[f"{name}.template"] or (), options[f"{name}.fake.mode"]
    if mode == "template" and not template:
        raise UsageError(f"option '{name}.fake.mode': the mode template requires {name}.template = [value, …]")
    return () if mode == "range" else tuple(template)


def _check_float(key: str, value: float) -> None:
    if abs(value) > LARGEST_FLOAT:
        raise UsageError(f"option '{key}': {value} does not fit into a float; the largest float is {LARGEST_FLOAT}")


def _parts(options: Options) -> Parts:
    parts = Parts(**{f"{name.split('.')[1]}s": options[f"{name}.template"] or () for name in opt.PARTS})
    try:
        parts.check()
    except ValueError as error:
        raise UsageError(f"option 'date.day.template': {error}") from None
    return parts
