"""Renaming rules of ``FieldRename`` and ``TableRename``."""

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BLOCK, BOOLEAN, ENUM, LIST, STRING, Option, Options

CASE = Option("convert_case", ENUM("UPPER", "LOWER"), doc="Convert names to upper or lower case.")
PREFIX = Option("prefix", STRING, doc="Prefix added to the name after the other changes.")
SUFFIX = Option("suffix", STRING, doc="Suffix added to the name.")
REPLACEMENTS = Option(
    "replacements_with_regex",
    LIST(BLOCK(dict.fromkeys(("replace_from", "replace_to", "is_regex")))),
    doc=(
        "Replacements as a list of { replace_from, replace_to, is_regex = true }: the parts of a name that match "
        "replace_from (with is_regex = false, the whole name) are replaced with replace_to, regardless of "
        "convert_case. The last matching entry applies."
    ),
)
NAMING = (CASE, PREFIX, SUFFIX, REPLACEMENTS)


@frozen
class Replacement:
    """An entry of ``replacements_with_regex``."""

    pattern: "re.Pattern[str]"
    to: str


@frozen(kw_only=True)
class Naming:
    """Renaming rules of a transform."""

    case: str | None = None
    prefix: str = ""
    suffix: str = ""
    replacements: tuple[Replacement, ...] = field(default=())

    def cased(self, name: str) -> str:
        """Return a name in the case of ``convert_case``."""
        return {"UPPER": name.upper(), "LOWER": name.lower()}.get(self.case or "", name)

    def renamed(self, name: str) -> str:
        """Return the new name; replacements match against the original name."""
        fitting = [each for each in self.replacements if each.pattern.search(name)]
        if not fitting:
            return self.prefix + self.cased(name) + self.suffix
        parts, at = [self.prefix], 0
        for found in fitting[-1].pattern.finditer(name):
            parts += [self.cased(name[at : found.start()]), fitting[-1].to]
            at = found.end()
        return "".join([*parts, self.cased(name[at:]), self.suffix])


def naming(options: Options) -> Naming:
    """Return the rules in the options; raise ``UsageError`` if a replacement is invalid."""
    return Naming(
        case=options[CASE],
        prefix=(options[PREFIX] or "").strip(),
        suffix=(options[SUFFIX] or "").strip(),
        replacements=tuple(_replacement(entry) for entry in options[REPLACEMENTS] or ()),
    )


def entry_texts(option: str, entry: Mapping[str, Any], wanted: tuple[str, ...]) -> list[str]:
    """Return the strings of an entry of a list option; raise ``UsageError`` if one is missing or not a string."""
    for name in wanted:
        if not isinstance(entry.get(name), str | int) or entry[name] == "":
            raise UsageError(f"option '{option}': an entry needs {' and '.join(wanted)}; {name} is missing in {entry}")
    return [str(entry[name]) for name in wanted]


def _replacement(entry: Mapping[str, Any]) -> Replacement:
    option = REPLACEMENTS.key
    (source,) = entry_texts(option, entry, ("replace_from",))
    target = str(entry.get("replace_to", "")).strip()
    if not _is_regex(entry):
        return Replacement(re.compile(rf"\A{re.escape(source)}\Z"), target)
    try:
        return Replacement(re.compile(source), target)
    except re.error as error:
        raise UsageError(f"option '{option}': {source!r} is not a regular expression: {error}") from None


def _is_regex(entry: Mapping[str, Any]) -> bool:
    try:
        return BOOLEAN.parse(entry.get("is_regex", True))
    except ValueError as error:
        raise UsageError(f"option '{REPLACEMENTS.key}', is_regex: {error}") from None
