"""Path patterns for all file systems. A path matches a file, the files in a folder, or all matches of its wildcards.

``*`` and ``?`` match characters within a name, ``[ab]`` and ``[!ab]`` match a single character, ``{a,b}`` matches each
alternative, and ``**`` as a whole name matches any number of folders. A pattern is matched name by name during the
listing, so that only folders with possible matches are opened.
"""

import fnmatch
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from attrs import define, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.filesystems.partition_folders import NULL_PARTITION, is_partition
from seatunnel_core.connectors.filesystems.staged_name import OWNER

MOST_ALTERNATIVES = 1000
"""Maximum number of patterns to which the braces of a path may expand."""

_MAGIC = re.compile(r"[*?\[]")
_WORK = re.compile(
    r"_temporary|_SUCCESS.*|_metadata|_common_metadata|_spark_metadata|_delta_log|_(committed|started)_\d+|\.seatunnel"
)
"""Names of files that engines write next to their data. Such a file is read only if a path contains its full name."""

_THEIRS = re.compile(r"T_\d+_[0-9a-f]+_\d+_\d+")
"""Pattern of the prefix of file names that SeaTunnel writes."""


MatchState = frozenset[tuple[int, bool]]
"""State of a match in one folder: pairs of the index of the next name in the pattern, and a flag.

The flag is True if the name of a parent folder starts with ``_`` and no name in the pattern matches it. In these
folders only files of a sink are data, because a sink names its folders after values.
"""


@frozen
class Pattern:
    """A path with wildcards and without braces."""

    base: str
    """Folder above the first name with a wildcard."""

    names: tuple[str, ...]
    """Parts of the pattern below ``base``, one for each folder level."""

    folders_only: bool
    """True if the pattern ends with a slash."""

    recursive: bool
    """True if files in deeper folders also match."""

    def begin(self) -> MatchState:
        """Return the match state in ``base``."""
        return self._closed({(0, False)})

    def enter(self, state: MatchState, name: str) -> MatchState:
        """Return the match state inside a folder; empty if nothing in it can match."""
        found: set[tuple[int, bool]] = set()
        for number, hidden in state:
            if self._is_anything(number):
                if (number < len(self.names) or self.recursive) and not _is_beside_data(name):
                    found.add((number, hidden or _begins_hidden(name)))
            elif _matches(self.names[number], name):
                found.add((number + 1, hidden))
        return self._closed(found)

    def takes(self, state: MatchState, name: str) -> bool:
        """Return True if a file of this name matches."""
        return any(
            (said and (not hidden or _is_data(name, hidden=True))) or (not said and _is_data(name, hidden=hidden))
            for said, hidden in self._meant(state, name)
        )

    def leaves_out(self, state: MatchState, name: str) -> bool:
        """Return True if only a leading ``_`` prevents a match, and the file is not an engine's own."""
        kept_beside = name.startswith(".") or _WORK.fullmatch(name)
        return not kept_beside and any(self._meant(state, name))

    def is_whole(self, state: MatchState) -> bool:
        """Return True if the pattern matches the folder of this state."""
        return any(number == len(self.names) for number, _ in state)

    def _meant(self, state: MatchState, name: str) -> Iterator[tuple[bool, bool]]:
        """Yield two flags for each state in which the file may match.

        The first is True if a name in the pattern matches the file; the second is the flag in ``MatchState``.
        """
        for number, hidden in state:
            if number == len(self.names) or (number == len(self.names) - 1 and not self.folders_only):
                said = not self._is_anything(number)
                if not said or _matches(self.names[number], name):
                    yield said, hidden

    def _is_anything(self, number: int) -> bool:
        return number == len(self.names) or self.names[number] == "**"

    def _closed(self, states: set[tuple[int, bool]]) -> MatchState:
        """Add the states in which ``**`` matches no folder."""
        found = set(states)
        for number, name in enumerate(self.names):
            if name == "**":
                found |= {(number + 1, hidden) for at, hidden in found if at == number}
        return frozenset(found)


@define
class Walk:
    """One traversal of the folders with possible matches of a pattern."""

    pattern: Pattern
    matched: bool = False
    """True if anything, even an empty folder, matched the pattern."""

    left_out: int = 0
    """Number of files skipped only because their name or a parent folder starts with ``_``."""

    example: str = ""

    def enter(self, state: MatchState, name: str) -> MatchState:
        """Return the match state inside a folder; record whether the pattern matches the folder itself."""
        found = self.pattern.enter(state, name)
        self.matched |= self.pattern.is_whole(found)
        return found

    def takes(self, state: MatchState, name: str, path: str) -> bool:
        """Return True if the pattern matches a file; count it as skipped if only a leading ``_`` excludes it."""
        if self.pattern.takes(state, name):
            self.matched = True
            return True
        if self.pattern.leaves_out(state, name):
            self.left_out += 1
            self.example = path
        return False


def all_of(folder: str, *, recursive: bool) -> Pattern:
    """Return the pattern that matches everything in a folder."""
    return Pattern(folder, (), True, recursive)


def has_wildcards(path: str) -> bool:
    """Return True if a path contains wildcards; a file with that exact name may still exist."""
    return bool(_MAGIC.search(path) or _first_braces(path))


def patterns(path: str, *, top: str, recursive: bool) -> Sequence[Pattern]:
    """Return the patterns to which a path expands; empty for a path without wildcards.

    Wildcards in ``top`` are literal. If ``recursive`` is true, files in deeper folders also match.
    """
    written = list(dict.fromkeys(_without_braces(path)))
    if written == [path] and not _MAGIC.search(path, len(top)):
        return ()
    return [_pattern(each, top, recursive=recursive) for each in written]


def fixed_part(path: str, top: str) -> str:
    """Return the folder that contains everything a pattern matches."""
    bases = [pattern.base for pattern in patterns(path, top=top, recursive=True)]
    shared: list[str] = []
    for names in zip(*(base.split("/") for base in bases), strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return "/".join(shared) or _of_nothing(path)


def is_visible(path: str) -> bool:
    """Return True if a recursive read of a folder includes a file below it."""
    *folders, name = path.split("/")
    everything = all_of("", recursive=True)
    state = everything.begin()
    for folder in folders:
        state = everything.enter(state, folder)
    return everything.takes(state, name)


def _pattern(path: str, top: str, *, recursive: bool) -> Pattern:
    match = _MAGIC.search(path, len(top))
    begin = path.rfind("/", 0, match.start()) if match else path.rstrip("/").rfind("/")
    names = tuple(name for name in path[begin + 1 :].split("/") if name not in ("", "."))
    if ".." in names:
        raise UsageError(f"option 'path': {path!r} contains .. after a pattern; write the path without it")
    base = path[:begin] if begin > 0 else path[: begin + 1]
    return Pattern(base or ".", names, path.endswith("/"), recursive)


def _of_nothing(path: str) -> str:
    return "/" if path.startswith("/") else "."


def _without_braces(path: str) -> Iterator[str]:
    """Yield the paths to which braces expand. Braces without a comma are ordinary characters."""
    waiting, found = [path], 0
    while waiting:
        each = waiting.pop(0)
        braces = _first_braces(each)
        if braces is None:
            found += 1
            yield each
        else:
            start, end, parts = braces
            waiting[:0] = [each[:start] + part + each[end:] for part in parts]
        if found + len(waiting) > MOST_ALTERNATIVES:
            raise UsageError(
                f"option 'path': {path[:80]!r} expands to more than {MOST_ALTERNATIVES} patterns; "
                "use the wildcard * instead"
            )


def _first_braces(path: str) -> tuple[int, int, list[str]] | None:
    for opening in re.finditer(r"\{", path):
        depth, start, parts = 0, opening.start() + 1, []
        for place in range(opening.start(), len(path)):
            sign = path[place]
            depth += (sign == "{") - (sign == "}")
            if (sign == "," and depth == 1) or (sign == "}" and depth == 0):
                parts.append(path[start:place])
                start = place + 1
            if depth == 0:
                break
        if depth == 0 and len(parts) > 1:
            return opening.start(), start, parts
    return None


def _matches(pattern: str, name: str) -> bool:
    """Return True if a name matches a part of a pattern. Wildcards match neither a leading dot nor engine files."""
    if not _MAGIC.search(pattern):
        return pattern == name
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return not _WORK.fullmatch(name) and bool(_expression(pattern).match(name))


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(re.sub(r"\[\^(?=.+\])", "[!", pattern)))


def _begins_hidden(folder: str) -> bool:
    return folder.startswith("_") and not _is_partition(folder)


def _is_beside_data(folder: str) -> bool:
    return bool(_WORK.fullmatch(folder)) or (folder.startswith(".") and not _is_partition(folder))


def _is_partition(folder: str) -> bool:
    return folder == NULL_PARTITION or is_partition(folder)


def _is_data(name: str, *, hidden: bool) -> bool:
    """Return True if a file with this name is data; ``hidden`` is True if a parent folder starts with ``_``."""
    if not (hidden or name.startswith((".", "_"))):
        return True
    if name.startswith(".") or _WORK.fullmatch(name):
        return False
    return bool(OWNER.search(name) or _THEIRS.match(name))
