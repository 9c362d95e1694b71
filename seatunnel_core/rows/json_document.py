"""Parser for external JSON and for paths in it, which use the syntax of ``python-jsonpath`` (RFC 9535)."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from seatunnel_core.rows.repeated_keys import RepeatedKeys, object_of_pairs
from seatunnel_core.rows.written_decimal import WrittenDecimal, decoders


class Number(float):
    """A number with a decimal point that keeps its original notation, so that a decimal keeps its digits."""

    text: str

    def __new__(cls, text: str) -> "Number":
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return Number, (self.text,)


def parsed(text: str | bytes) -> Any:
    """Parse a JSON document. Objects with duplicate keys become ``RepeatedKeys``.

    Raises:
        ValueError: The document is not JSON. The message contains the position.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        return _decoder_of(decoded).decode(decoded)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def exact(document: Any) -> Any:
    """Replace each ``Number`` in a document with a decimal, so that all digits are compared."""
    if isinstance(document, dict):
        found = {name: exact(part) for name, part in document.items()}
        return RepeatedKeys(found, document.repeated) if isinstance(document, RepeatedKeys) else found
    if isinstance(document, list):
        return [exact(part) for part in document]
    return WrittenDecimal(document.text) if isinstance(document, Number) else document


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


_decoder_of = decoders(parse_float=Number, parse_constant=_no_number, object_pairs_hook=object_of_pairs)


@cache
def compiled(path: str) -> Any:
    """Compile a path for ``found``. Raise a ValueError that states the reason if it is invalid."""
    import jsonpath

    try:
        return jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"the path {path!r} cannot be parsed: {str(error).splitlines()[0]}") from None


def keys_of(document: Any) -> str:
    """Return the keys of a document for a message, without its values."""
    if isinstance(document, Mapping):
        shown = ", ".join(str(key) for key in list(document)[:12]) or "nothing"
        return f"an object with {shown}" + (", …" if len(document) > 12 else "")
    if isinstance(document, Sequence) and not isinstance(document, str):
        return f"an array of {len(document)}" + (f", each {keys_of(document[0])}" if document else "")
    return "null" if document is None else f"a {type(document).__name__}"


def found(path: str, document: Any) -> list[Any]:
    """Return all values at a path. Raise ValueError if the path is invalid."""
    steps = _steps(path)
    if steps is None or not isinstance(document, (dict, list)):  # a string would be parsed
        return list(compiled(path).findall(document))
    for step in steps:
        try:
            document = _child(document, step)
        except (KeyError, IndexError):
            return []
    return [document]


@cache
def is_single(path: str) -> bool:
    """Return True if a path selects at most one value."""
    query = compiled(path)
    return bool(getattr(query, "singular_query", lambda: False)())


@cache
def _steps(path: str) -> tuple[str | int, ...] | None:
    """Return the steps of a path of names and indexes; ``None`` for other paths.

    Evaluating the steps is twenty times as fast as using the package.
    """
    selectors = [each for segment in getattr(compiled(path), "segments", ()) for each in segment.selectors]
    if not is_single(path):
        return None
    steps: list[Any] = [getattr(each, "name", getattr(each, "index", None)) for each in selectors]
    return None if None in steps else tuple(steps)


def _child(document: Any, step: str | int) -> Any:
    if isinstance(document, dict):  # in the package, an index is also a name
        return document[step if isinstance(step, str) else str(step)]
    if isinstance(document, list) and isinstance(step, int):
        return document[step]
    raise KeyError


@cache
def divided(path: str) -> tuple[str | None, str, str]:
    """Split a path at its last part that may select several values.

    Return the path of the container of these values, the path that selects them, and the remaining path. The first path
    is ``None`` if the whole path selects at most one value.
    """
    segments = [str(segment) for segment in compiled(path).segments]
    several = [number for number, segment in enumerate(segments) if not compiled(f"${segment}").singular_query()]
    if not several:
        return None, "$", path
    last = several[-1]
    return "$" + "".join(segments[:last]), "$" + "".join(segments[: last + 1]), "$" + "".join(segments[last + 1 :])
