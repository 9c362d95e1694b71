"""Properties in URLs of JDBC: a database honours them, needs them for nothing, or has another option in their place."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.errors import UsageError


@frozen(kw_only=True)
class KnownProperties:
    """The properties of one database, as its Java drivers name them."""

    database: str
    """The name of the database, for messages."""

    honoured: frozenset[str]
    """Properties that have an effect here."""

    idle: frozenset[str]
    """Properties that change how a Java driver works, and no value and no guarantee here."""

    as_by_default: Mapping[str, str] = field(factory=dict)
    """Values that say what holds here anyway."""

    instead: Mapping[str, str] = field(factory=dict)
    """What to write in place of a property; ``{}`` stands for its value."""

    unknown: str = "Leave it out, or correct its name"
    """What to write in place of a property that is not known; ``{}`` stands for its name."""

    numbers: frozenset[str] = frozenset()
    """Properties that have whole numbers."""

    words: Mapping[str, Iterable[str]] = field(factory=dict)
    """Properties that have one of some words, in lower case."""

    def require(self, properties: Iterable[tuple[str, str]]) -> None:
        """Check that each property is honoured, or changes nothing here.

        Raises:
            UsageError: Some are not; the message lists all of them, each with what to write instead.
        """
        wrong = [answer for name, value in properties if (answer := self._answer(name, value))]
        if wrong:
            raise UsageError(f"option 'properties' or 'url': {'; '.join(wrong)}")

    def _answer(self, name: str, value: str) -> str:
        """Return what to write instead of a property; an empty text if it may stay."""
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
            return f"{shown} has another name here: {self.instead[name].replace('{}', value)}"
        close = nearest(name, (*self.honoured, *self.instead, *self.as_by_default, *self.idle))
        hint = f"Did you mean {close}?" if close else self.unknown.replace("{}", name)
        return f"{name} is not known for {self.database}. {hint}"
