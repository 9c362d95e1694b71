"""Rules about the values of one column, each checked for a whole column at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.config.option import Keys
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, STRING, OptionType, within
from seatunnel_core.findings import Findings
from seatunnel_core.rows.types import is_text, type_name
from seatunnel_core.transforms.regex import check_pattern

_LENGTH = within(0, 2**31 - 1)


@frozen(kw_only=True)
class ValueRule(ABC):
    """A rule about one column; only ``NOT_NULL`` rejects null."""

    column: str
    custom_message: str | None = None

    @abstractmethod
    def held(self, values: pa.Array) -> pa.BooleanArray:
        """Return a mask of the values that satisfy the rule; null for null values."""

    @abstractmethod
    def broken(self, value: str) -> str:
        """Return the reason why a value, given as a string, violates the rule."""

    def check_type(self, kind: pa.DataType) -> None:
        """Raise ``ValueError`` if the rule does not apply to a column type."""

    def message(self, value: pa.Scalar) -> str:
        """Return the message about a value that violates the rule."""
        shown = str(value.as_py())
        return self.custom_message or self.broken(shown if len(shown) <= 60 else shown[:57] + "...")


@frozen(kw_only=True)
class NotNull(ValueRule):
    """The value must not be null."""

    def held(self, values: pa.Array) -> pa.BooleanArray:
        return pc.is_valid(values)

    def broken(self, value: str) -> str:
        return "the value is null"


@frozen(kw_only=True)
class Range(ValueRule):
    """The value must be between ``min_value`` and ``max_value``, which are parsed as values of the column's type."""

    min_value: str | None = None
    max_value: str | None = None
    min_inclusive: bool = True
    max_inclusive: bool = True

    def held(self, values: pa.Array) -> pa.BooleanArray:
        held = pc.is_valid(values)
        if self.min_value is not None:
            compare = pc.greater_equal if self.min_inclusive else pc.greater
            held = pc.and_(held, compare(values, _bound(self.min_value, values.type)))
        if self.max_value is not None:
            compare = pc.less_equal if self.max_inclusive else pc.less
            held = pc.and_(held, compare(values, _bound(self.max_value, values.type)))
        return held

    def broken(self, value: str) -> str:
        low = f"at least {self.min_value}" if self.min_inclusive else f"more than {self.min_value}"
        high = f"at most {self.max_value}" if self.max_inclusive else f"less than {self.max_value}"
        expected = [text for text, bound in ((low, self.min_value), (high, self.max_value)) if bound is not None]
        return f"{value} is not {' and '.join(expected)}"

    def check_type(self, kind: pa.DataType) -> None:
        for text in (text for text in (self.min_value, self.max_value) if text is not None):
            try:
                pc.less(pa.nulls(0, kind), _bound(text, kind))
            except pa.ArrowException:
                raise ValueError(
                    f"RANGE of the column {self.column}, which is {type_name(kind)}, does not support {text!r} as "
                    "a bound"
                ) from None


def _bound(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return a bound that is comparable with the column's values; for integers, a fractional bound is not rounded."""
    written = pa.scalar(text.strip())
    try:
        return written.cast(kind)
    except pa.ArrowException:
        if not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
            raise
        return written.cast(pa.float64())


@frozen(kw_only=True)
class Length(ValueRule):
    """The number of characters, bytes or array elements must be in a range."""

    min_length: int | None = None
    max_length: int | None = None
    exact_length: int | None = None

    def held(self, values: pa.Array) -> pa.BooleanArray:
        lengths = _lengths(values.type)(values)  # type: ignore[misc] # checked by check_type
        held = pc.greater_equal(lengths, self.min_length or 0)
        if self.max_length is not None:
            held = pc.and_(held, pc.less_equal(lengths, self.max_length))
        if self.exact_length is not None:
            held = pc.and_(held, pc.equal(lengths, self.exact_length))
        return held

    def broken(self, value: str) -> str:
        wanted = {"exactly": self.exact_length, "at least": self.min_length, "at most": self.max_length}
        expected = " and ".join(f"{word} {length}" for word, length in wanted.items() if length is not None)
        return f"the length of {value!r} is not {expected}"

    def check_type(self, kind: pa.DataType) -> None:
        if _lengths(kind) is None:
            raise ValueError(
                f"LENGTH needs a string, bytes or an array, but the column {self.column} is {type_name(kind)}"
            )


def _lengths(kind: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    if is_text(kind):
        return pc.utf8_length  # type: ignore[no-any-return]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pc.binary_length  # type: ignore[no-any-return]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pc.list_value_length  # type: ignore[no-any-return]
    return None


@frozen(kw_only=True)
class Regex(ValueRule):
    """The whole value must match the regular expression."""

    pattern: str
    case_sensitive: bool = True

    def __attrs_post_init__(self) -> None:
        check_pattern("field_rules", self.pattern)

    def held(self, values: pa.Array) -> pa.BooleanArray:
        whole = rf"\A(?:{self.pattern})\z"
        return pc.match_substring_regex(values, whole, ignore_case=not self.case_sensitive)

    def broken(self, value: str) -> str:
        return f"{value!r} does not match {self.pattern}"

    def check_type(self, kind: pa.DataType) -> None:
        if not is_text(kind):
            raise ValueError(f"REGEX needs a string, but the column {self.column} is {type_name(kind)}")


@frozen(kw_only=True)
class Named(ValueRule):
    """``UDF``: SeaTunnel's function EMAIL, which checks the form of an e-mail address, ignoring spaces around it."""

    function_name: str

    def __attrs_post_init__(self) -> None:
        if self.function_name.upper() != "EMAIL":
            raise ValueError(
                f"expected function_name = EMAIL, found {self.function_name!r}; "
                "for other rules, use the Python transform"
            )

    def held(self, values: pa.Array) -> pa.BooleanArray:
        texts = pc.utf8_trim(values, characters=_SPACES)
        short = pc.less_equal(pc.utf8_length(texts), 254)
        return pc.or_(pc.equal(texts, ""), pc.and_(short, pc.match_substring_regex(texts, _EMAIL)))

    def broken(self, value: str) -> str:
        return f"{value!r} is not an e-mail address"

    def check_type(self, kind: pa.DataType) -> None:
        if not is_text(kind):
            raise ValueError(f"UDF EMAIL needs a string, but the column {self.column} is {type_name(kind)}")


_SPACES = "".join(map(chr, range(33)))
"""Characters that Java's ``trim`` removes."""

_EMAIL = r"""\A[^@"'`\x00]{1,63}@[a-zA-Z0-9.-]*\.[a-zA-Z0-9.-]*\z"""


@frozen
class _Kind:
    made: type[ValueRule]
    keys: Mapping[str, OptionType[Any]] = field(factory=dict)
    needed: tuple[str, ...] = ()
    """Alternative keys; at least one must be set."""


_KINDS = {
    "NOT_NULL": _Kind(NotNull),
    "RANGE": _Kind(
        Range,
        {"min_value": STRING, "max_value": STRING, "min_inclusive": BOOLEAN, "max_inclusive": BOOLEAN},
        ("min_value", "max_value"),
    ),
    "LENGTH": _Kind(
        Length,
        {"min_length": _LENGTH, "max_length": _LENGTH, "exact_length": _LENGTH},
        ("min_length", "max_length", "exact_length"),
    ),
    "REGEX": _Kind(Regex, {"pattern": STRING, "case_sensitive": BOOLEAN}, ("pattern",)),
    "UDF": _Kind(Named, {"function_name": STRING}, ("function_name",)),
}
RULES = tuple(_KINDS)
_OF_RULE = dict.fromkeys(("rule_type", "custom_message", *(key for kind in _KINDS.values() for key in kind.keys)))
ENTRY_KEYS: Keys = {"field_name": None, **_OF_RULE, "rules": _OF_RULE}
"""Keys of an entry of any rule."""


def value_rules(option: str, entries: Iterable[Mapping[str, Any]]) -> tuple[ValueRule, ...]:
    """Return the rules of a list of blocks; raise ``UsageError`` with all problems if some are invalid."""
    rules: list[ValueRule] = []
    findings = Findings()
    for entry in entries:
        with findings.part():
            column = entry.get("field_name")
            if not isinstance(column, str) or not column:
                raise UsageError(f"option '{option}': an entry needs field_name, the column of its rules")
            for written in _written_rules(entry):
                with findings.part():
                    rules.append(_rule(f"option '{option}', column {column}", column, written))
    findings.raise_all()
    if not rules:
        raise UsageError(f"option '{option}': no rule is set; set {{ field_name = id, rule_type = NOT_NULL }}")
    return tuple(rules)


def _written_rules(entry: Mapping[str, Any]) -> Sequence[Any]:
    """Return the rules of an entry: its ``rules``, or the entry itself as the only rule."""
    rest = {key: value for key, value in entry.items() if key != "field_name"}
    listed = rest.pop("rules", None)
    return [rest] if listed is None else listed


def _rule(place: str, column: str, written: Any) -> ValueRule:
    if not isinstance(written, Mapping):
        raise UsageError(f"{place}: rules must be a list of blocks {{ rule_type = … }}")
    kind = _KINDS.get(str(written.get("rule_type", "")).upper())
    if kind is None:
        raise UsageError(
            f"{place}: rule_type must be one of {', '.join(RULES)}, found {written.get('rule_type')!r}; "
            "for other rules, use the Python transform"
        )
    keys = {**kind.keys, "custom_message": STRING}
    if kind.needed and not set(kind.needed) & set(written):
        raise UsageError(f"{place}: {written['rule_type']} needs {' or '.join(kind.needed)}")
    try:
        parsed = {key: keys[key].parse(value) for key, value in written.items() if key in keys}
        return kind.made(column=column, **parsed)
    except ValueError as error:
        raise UsageError(f"{place}: {written['rule_type']}: {error}") from None
