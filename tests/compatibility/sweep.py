"""Writes ``docs/evidence/sweep.md``, ours beside SeaTunnel's: ``python tests/compatibility/sweep.py``.

Ours is read from the declarations; SeaTunnel's, and why ours differs, stands in ``options.yaml``. A row is decided when
the two are the same, or when it is said why they are not.
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
ONLY_HERE, THERE_TOO = "only here", "known"
TYPES = (*SIMPLE, *VECTORS, "decimal", "array", "map", "row")

_HEAD = """# Ours beside SeaTunnel's, option by option

Every option of the connectors and transforms that are here, of `env` and of `seatunnel.yaml`, every function of `Sql`
and every type, with what Apache SeaTunnel has, 2.3.8 and the newest. It is made by `tests/compatibility/sweep.py`, and
a test fails when an option has no row here or a row no decision. What is behind the differences stands in
[compatibility](../start/compatibility.md).
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
        """Empty when there is none."""
        if self.there == ONLY_HERE:
            return f"only here: {self.why}" if self.why else ""
        if self.why:
            return f"differs: {self.why}" if self.ours != self.there else f"the same, but: {self.why}"
        return "the same" if self.ours == self.there else ""


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
    """Rows of functions or types; one that is only here needs a reason as well."""
    known = set(ours)
    for name in [*fact["there"], *sorted(known - set(fact["there"]))]:
        there = THERE_TOO if name in fact["there"] else ONLY_HERE
        own = THERE_TOO if name in known else "unknown"
        yield Row(name=name, ours=own, there=there, why=str(fact["why"].get(name, "")))


def page() -> str:
    """The whole page."""
    found, ours = facts(), declared()
    parts = [_HEAD]
    for title, group in found["groups"].items():
        parts += [
            f"## {title[0].upper()}{title[1:]}\n",
            _about(title, group),
            *_table("option", group_rows(group, ours)),
            "",
        ]
        besides = group.get("besides") or {}
        if besides:
            parts += ["What SeaTunnel has besides is an unknown option here, which is a warning:\n"]
            parts += [f"* `{key}`: {why}" for key, why in besides.items()] + [""]
    parts += ["## Functions of `Sql`\n", *_table("function", names_rows(found["functions"], FUNCTIONS)), ""]
    parts += ["## Types\n", *_table("type", names_rows(found["types"], TYPES)), ""]
    return "\n".join(parts)


def _about(title: str, group: Mapping[str, Any]) -> str:
    of = f"Of {', '.join(group['of'])}. " if group["of"] != [title] else ""
    return f"{of}SeaTunnel's from {group.get('from', 'its documentation')}.\n"


def _table(what: str, rows: Iterable[Row]) -> Iterator[str]:
    yield from (f"| {what} | ours | SeaTunnel's | decision, and why |", "|---|---|---|---|")
    for row in rows:
        cells = (f"`{row.name}`", _code(row.ours), _code(row.there), row.decision or "**undecided**")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return text if text in ("required", "not set", ONLY_HERE, THERE_TOO, "unknown") else f"`{text}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit("undecided" in page())
