"""Properties in JDBC URLs: supported, ignored, or replaced by an option."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.errors import UsageError


@frozen(kw_only=True)
class KnownProperties:
    """Properties of one database, under the names that its Java drivers use."""

    database: str
    """Name of the database, for messages."""

    honoured: frozenset[str]
    """Names of supported properties."""

    idle: frozenset[str]
    """Properties that tune the Java driver but affect neither values nor guarantees."""

    as_by_default: Mapping[str, str] = field(factory=dict)
    """Property values that are accepted because they are always in effect."""

    instead: Mapping[str, str] = field(factory=dict)
    """Alternatives to unsupported properties, for messages; ``{}`` is replaced by the property's value."""

    unknown: str = "Remove it, or correct its name"
    """Advice about an unknown property, for messages; ``{}`` is replaced by its name."""

    numbers: frozenset[str] = frozenset()
    """Properties with integer values."""

    words: Mapping[str, Iterable[str]] = field(factory=dict)
    """Allowed values, in lower case, of properties with a fixed set of values."""

    def require(self, properties: Iterable[tuple[str, str]]) -> None:
        """Raise ``UsageError`` for unsupported properties; the message lists all of them with alternatives."""
        wrong = [answer for name, value in properties if (answer := self._answer(name, value))]
        if wrong:
            raise UsageError(f"option 'properties' or 'url': {'; '.join(wrong)}")

    def _answer(self, name: str, value: str) -> str:
        """Return the error message for a property; empty if the property is accepted."""
        if name in self.numbers and not value.strip().isdecimal():
            return f"{name} = {value} is not a whole number"
        if name in self.words and value.strip().lower() not in self.words[name]:
            return f"{name} = {value} is not one of {', '.join(self.words[name])}"
        if name in self.honoured or name in self.idle:
            return ""
        if value and self.as_by_default.get(name, "").lower() == value.lower():
            return ""
        if name in self.instead:
            shown = f"{name} = {value}" if name in self.as_by_default else name
            return f"{shown} is not supported: {self.instead[name].replace('{}', value)}"
        close = nearest(name, (*self.honoured, *self.instead, *self.as_by_default, *self.idle))
        hint = f"Did you mean {close}?" if close else self.unknown.replace("{}", name)
        return f"{name} is unknown for {self.database}. {hint}"
