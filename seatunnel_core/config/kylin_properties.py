"""``kylin.properties``: keys of Apache Kylin for clusters, each with an equivalent option of a node.

The file is read from ``$KYLIN_HOME/conf``, or else from the folder of ``seatunnel.yaml``. Values in
``kylin.properties.override`` in the same folder take precedence.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from seatunnel_core.config.cluster_options import (
    HEART_BEAT_INTERVAL,
    HEART_BEAT_TIMEOUT,
    INSTANCE_HOST,
    LEADER_RACE,
    METADATA,
    SERVER_MODE,
    ZOOKEEPER,
)
from seatunnel_core.config.document import Block, Entry, Position, Scalar
from seatunnel_core.config.file import read_text
from seatunnel_core.config.option import Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, validate

FILES = ("kylin.properties", "kylin.properties.override")

_SAME: Mapping[str, Option[Any]] = {
    "kylin.env.zookeeper-connect-string": ZOOKEEPER,
    "kylin.metadata.url": METADATA,
    "spring.cloud.zookeeper.discovery.instance-host": INSTANCE_HOST,
    "kylin.server.mode": SERVER_MODE,
    "kylin.server.leader-race.enabled": LEADER_RACE,
    "kylin.server.leader-race.heart-beat-interval": HEART_BEAT_INTERVAL,
    "kylin.server.leader-race.heart-beat-timeout": HEART_BEAT_TIMEOUT,
}
KYLIN: tuple[Option[Any], ...] = tuple(
    evolve(option, key=key, doc=f"The same as `{option.key}` in `seatunnel.yaml`, which takes precedence.")
    for key, option in _SAME.items()
)
"""Supported keys of ``kylin.properties``."""

_NOTED = (
    ("kylin.job.ssh-", "nodes do not log in to each other: they use HTTP requests signed with cluster.secret"),
    ("gluten", "Gluten and internal tables are not supported"),
    ("spring.session.", "sessions are not used: each request contains a user and password, so any node can serve it"),
)
"""Parts of keys for features that this engine does not have, with an explanation for the warning."""

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ENTRY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def read_kylin(folder: Path, problems: Problems) -> dict[str, Any]:
    """Return the settings in the files of a folder, keyed by their names in ``seatunnel.yaml``."""
    entries: dict[str, Entry] = {}
    for name in FILES:
        if (folder / name).is_file():
            entries |= {entry.key: entry for entry in _entries(folder / name)}
    known = _without_noted(entries.values(), problems)
    block = Block(tuple(known), Position(str(folder / FILES[0])))
    options = validate(block, KYLIN, BlockRules(what="kylin.properties"), problems).options
    return {same.key: options[key] for key, same in _SAME.items() if options.is_set(key)}


def kylin_folder(environment: Mapping[str, str], config: Path) -> Path:
    """Return the folder of ``kylin.properties``: in ``KYLIN_HOME`` if set, else the folder of the engine's file."""
    home = environment.get("KYLIN_HOME")
    return Path(home, "conf") if home else config


def _without_noted(entries: Any, problems: Problems) -> Iterator[Entry]:
    """Yield the supported entries, and warn once about each kind of unsupported entry."""
    noted: set[str] = set()
    others = []
    for entry in entries:
        note = next((why for part, why in _NOTED if part in entry.key), None)
        if entry.key in _SAME:
            yield entry
        elif note is None:
            others.append(entry)
        elif note not in noted:
            noted.add(note)
            problems.warn(f"{entry.key!r} has no effect: {note}", entry.position)
    if others:
        names = ", ".join(entry.key for entry in others[:3]) + (", …" if len(others) > 3 else "")
        known = ", ".join(_SAME)
        problems.warn(f"{names}: these Kylin keys have no effect", others[0].position, f"Supported keys: {known}")


def _entries(path: Path) -> Iterator[Entry]:
    for line, text in _logical_lines(read_text(path)):
        found = _ENTRY.fullmatch(text)
        assert found is not None  # any text is an entry
        position = Position(str(path), line, 1)
        value = _unescaped(found[2]).strip()
        yield Entry(_unescaped(found[1]), Scalar(value or None, value, position), position)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each entry with the number of its first line. Comments are skipped; a final backslash continues a line."""
    collected, began, is_continued = "", 0, False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        part = line.lstrip(" \t\f")
        if not is_continued and (not part or part[0] in "#!"):
            continue
        if not is_continued:
            collected, began = "", number
        is_continued = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        collected += part[:-1] if is_continued else part
        if not is_continued:
            yield began, collected
    if is_continued:
        yield began, collected


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2]), text)
