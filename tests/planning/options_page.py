"""Writes ``docs/reference/options.md`` from the declarations: ``python tests/planning/options_page.py``."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seatunnel_core.config.engine_options import ENGINE, STORAGE
from seatunnel_core.config.env import ENV
from seatunnel_core.config.kylin_properties import KYLIN
from seatunnel_core.config.option import Option
from seatunnel_core.job.node import COMMON
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import default, meaning, type_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"

_HEAD = """# Options

Every option of the engine, of a job's `env`, and of the connectors and transforms that come with it. This page is made
from the declarations in the code by `python tests/planning/options_page.py`, and a test compares the two.

A duration is a number of milliseconds, or a text with a unit such as `10s`. A size is a number of bytes, or a text with
a unit such as `128MB`. A list may stand as one text with commas. Names of plugins are compared without regard to case.
"""


def page() -> str:
    """The whole page."""
    parts = [
        _HEAD,
        _section("`seatunnel.yaml`, under `seatunnel.engine`", ENGINE),
        _section("`seatunnel.yaml`, under `seatunnel.engine.checkpoint.storage`", STORAGE),
        _section("`kylin.properties`, read by the nodes of a cluster", KYLIN),
        _section("`env` of a job", ENV),
    ]
    for kind, options in COMMON.items():
        parts.append(_section(f"Every {kind.value}", options))
    for plugin in lookup.plugins():
        if plugin.distribution == "seatunnel-core" and plugin.declared is not None:
            parts.append(_section(f"{plugin.kind.capitalize()} `{plugin.identifier}`", plugin.declared.declared))  # type: ignore[attr-defined]
    return "\n".join(parts)


def _section(title: str, options: Iterable[Option[Any]]) -> str:
    rows = [row(option) for option in options]
    if not rows:
        return f"## {title}\n\nIt has no options of its own.\n"
    return "\n".join([f"## {title}\n", "| option | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def row(option: Option[Any]) -> str:
    """An option's line in a table."""
    names = f"`{option.key}`" + "".join(f"<br>older: `{alias}`" for alias in option.aliases)
    cells = (names, type_of(option), _default(option), meaning(option))
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """A text as a cell of a table can hold it."""
    return " ".join(text.replace("|", "\\|").split())


def _default(option: Option[Any]) -> str:
    if option.required:
        return "**required**" + "".join(f", or `{other}`" for other in option.unless)
    shown = default(option)
    return f"`{shown}`" if shown else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.path.insert(0, str(PAGE.parents[1]))
    from tests.cli.help.plugin_pages import write

    write()
