"""The rules by which ``FieldRename`` and ``TableRename`` make new names."""

import re
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BLOCK, BOOLEAN, ENUM, LIST, STRING, Option, Options

CASE = Option("convert_case", ENUM("UPPER", "LOWER"), doc="Writes names in capital or in small letters.")
PREFIX = Option("prefix", STRING, doc="What comes before the name, after the other changes.")
SUFFIX = Option("suffix", STRING, doc="What comes after the name.")
REPLACEMENTS = Option(
    "replacements_with_regex",
    LIST(BLOCK(dict.fromkeys(("replace_from", "replace_to", "is_regex")))),
    doc="A list of { replace_from, replace_to, is_regex = true }: the parts of a name that match replace_from, or with "
    "is_regex = false a name that equals it, become replace_to, which no convert_case changes. The last entry that "
    "fits counts.",
)
NAMING = (CASE, PREFIX, SUFFIX, REPLACEMENTS)


@frozen
class Replacement:
    """One entry of ``replacements_with_regex``."""

    pattern: "re.Pattern[str]"
    to: str


@frozen(kw_only=True)
class Naming:
    """The rules that the options ask for."""

    case: str | None = None
    prefix: str = ""
    suffix: str = ""
    replacements: tuple[Replacement, ...] = field(default=())

    def cased(self, name: str) -> str:
        """Return a name in the case that ``convert_case`` asks for."""
        return {"UPPER": name.upper(), "LOWER": name.lower()}.get(self.case or "", name)

    def renamed(self, name: str) -> str:
        """Return the new name; replacements match against the old name as it was."""
        fitting = [each for each in self.replacements if each.pattern.search(name)]
        if not fitting:
            return self.prefix + self.cased(name) + self.suffix
        parts, at = [self.prefix], 0
        for found in fitting[-1].pattern.finditer(name):
            parts += [self.cased(name[at : found.start()]), fitting[-1].to]
            at = found.end()
        return "".join([*parts, self.cased(name[at:]), self.suffix])


def naming(options: Options) -> Naming:
    """Return the rules that the options ask for.

    Raises:
        UsageError: a replacement is written wrongly; names it.
    """
    return Naming(
        case=options[CASE],
        prefix=(options[PREFIX] or "").strip(),
        suffix=(options[SUFFIX] or "").strip(),
        replacements=tuple(_replacement(entry) for entry in options[REPLACEMENTS] or ()),
    )


def entry_texts(option: str, entry: Mapping[str, Any], wanted: tuple[str, ...]) -> list[str]:
    """Return the texts of an entry of a list option.

    Raises:
        UsageError: one is missing, or is no text.
    """
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
