"""Generates ``docs/evidence/sweep.md``, a comparison with SeaTunnel: ``python tests/compatibility/sweep.py``.

Our options come from the declarations, SeaTunnel's and the reasons for differences from ``options.yaml``. A row is
decided if both are the same, or if it has a reason.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from attrs import evolve, frozen

from seatunnel_core.config.engine_options import ENGINE, STORAGE
from seatunnel_core.config.env import ENV
from seatunnel_core.config.option import Option
from seatunnel_core.job.node import COMMON
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import default
from seatunnel_core.rows.types import SIMPLE, VECTORS
from seatunnel_core.transforms.sql.functions.catalog import FUNCTIONS

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "sweep.md"
FACTS = Path(__file__).with_name("options.yaml")
ONLY_HERE, THERE_TOO, SAME = "only here", "known", "the same"
TYPES = (*SIMPLE, *VECTORS, "decimal", "array", "map", "row")

_HEAD = """# Comparison with SeaTunnel, option by option

All options of the connectors and transforms, of `env` and of `seatunnel.yaml`, all functions of `Sql` and all
types, compared with Apache SeaTunnel 2.3.8 and its newest version. A cell contains the default of an option. Each
section first lists what is the same. [Compatibility](../start/compatibility.md) explains the differences.

`python tests/compatibility/sweep.py` generates this page; a test requires an entry for each option and a reason for
each difference.
"""


@frozen(kw_only=True)
class Row:
    """One option, function or type."""

    name: str
    ours: str
    there: str
    why: str

    @property
    def decision(self) -> str:
        """Return the reason of a difference, or ``SAME``; empty if a difference has no reason."""
        return self.why or (SAME if self.ours == self.there else "")


def facts() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FACTS.read_text(encoding="utf-8"))
    return found


def declared() -> dict[str, Mapping[str, Option[Any]]]:
    """Our options by what has them: ``source LocalFile``, ``every sink``, ``env``."""
    found = {
        f"{each.kind} {each.identifier}": _by_key(each.declared.declared)  # type: ignore[attr-defined]
        for each in lookup.plugins()
        if each.distribution == "seatunnel-core" and each.declared is not None
    }
    storage = [evolve(option, key=f"checkpoint.storage.{option.key}") for option in STORAGE]
    return {
        **found,
        **{f"every {kind.value}": _by_key(options) for kind, options in COMMON.items()},
        "env": _by_key(ENV),
        "the engine's file": _by_key([*ENGINE, *storage]),
    }


def _by_key(options: Iterable[Option[Any]]) -> dict[str, Option[Any]]:
    return {option.key: option for option in options}


def group_rows(group: Mapping[str, Any], ours: Mapping[str, Mapping[str, Option[Any]]]) -> Iterator[Row]:
    """A row for each option of a group, and another where its members have other defaults."""
    for key, written in group["options"].items():
        fact = written if isinstance(written, dict) else {"there": written}
        having = [owner for owner in group["of"] if key in ours[owner]]
        for shown in dict.fromkeys(shown_default(ours[owner][key]) for owner in having):
            yield Row(name=key, ours=shown, there=str(fact["there"]), why=str(fact.get("why") or ""))


def shown_default(option: Option[Any]) -> str:
    return "required" if option.required else default(option) or "not set"


def names_rows(fact: Mapping[str, Any], ours: Iterable[str]) -> Iterator[Row]:
    """Rows of functions or types; one that has no equivalent in SeaTunnel needs a reason, too."""
    known = set(ours)
    for name in [*fact["there"], *sorted(known - set(fact["there"]))]:
        there = THERE_TOO if name in fact["there"] else ONLY_HERE
        own = THERE_TOO if name in known else "unknown"
        yield Row(name=name, ours=own, there=there, why=str(fact["why"].get(name, "")))


def page() -> str:
    """Return the whole page."""
    found, ours = facts(), declared()
    parts = [_HEAD]
    for title, group in found["groups"].items():
        parts += [
            f"## {title[0].upper()}{title[1:]}\n",
            _about(title, group),
            *_compared("option", group_rows(group, ours)),
            "",
        ]
        besides = group.get("besides") or {}
        if besides:
            parts += ["SeaTunnel also has these options; here they are unknown and cause a warning:\n"]
            parts += [f"* `{key}`: {why}" for key, why in besides.items()] + [""]
    parts += ["## Functions of `Sql`\n", *_compared("function", names_rows(found["functions"], FUNCTIONS)), ""]
    parts += ["## Types\n", *_compared("type", names_rows(found["types"], TYPES)), ""]
    return "\n".join(parts)


def _about(title: str, group: Mapping[str, Any]) -> str:
    of = f"For {', '.join(group['of'])}. " if group["of"] != [title] else ""
    return f"{of}SeaTunnel's options are from {group.get('from', 'its documentation')}.\n"


def _compared(what: str, rows: Iterable[Row]) -> Iterator[str]:
    """The names that are the same in a sentence, and a table of the others."""
    every = list(rows)
    same = [f"`{row.name}`" for row in every if row.decision == SAME]
    other = [row for row in every if row.decision != SAME]
    if same:
        yield f"The same: {', '.join(same)}.\n"
    if other:
        yield from (f"| {what} | ours | SeaTunnel's | reason or difference |", "|---|---|---|---|")
    for row in other:
        cells = (f"`{row.name}`", _code(row.ours), _code(row.there), row.decision or "**undecided**")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return text if text in ("required", "not set", ONLY_HERE, THERE_TOO, "unknown") else f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit("undecided" in page())
