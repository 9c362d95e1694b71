"""Generates ``docs/reference/options.md`` from the declarations: ``python tests/planning/options_page.py``."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seatunnel_core.config.engine_options import ENGINE, STORAGE
from seatunnel_core.config.env import ENV
from seatunnel_core.config.kylin_properties import KYLIN
from seatunnel_core.config.option import Option
from seatunnel_core.job.node import COMMON
from seatunnel_core.registry.description import default, meaning, type_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"

_HEAD = """# Options

Options of the engine and of jobs, and the options that all sources, transforms and sinks share. Each
[connector](connectors.md) and transform lists its own options on its page, which `seatunnel help NAME` prints.

Write a duration as a number of milliseconds or with a unit, such as `10s`, and a size as a number of bytes or with a
unit, such as `128MB`. A list may be a single string with commas. Plugin names are not case-sensitive.

`python tests/planning/options_page.py` generates this page from the declarations in the code.
"""


def page() -> str:
    """Return the whole page."""
    parts = [
        _HEAD,
        _section("`seatunnel.yaml`, under `seatunnel.engine`", ENGINE),
        _section("`seatunnel.yaml`, under `seatunnel.engine.checkpoint.storage`", STORAGE),
        _section("`kylin.properties`, read by the nodes of a cluster", KYLIN),
        _section("`env` of a job", ENV),
    ]
    for kind, options in COMMON.items():
        parts.append(_section(f"Every {kind.value}", options))
    return "\n".join(parts)


def _section(title: str, options: Iterable[Option[Any]]) -> str:
    rows = [row(option) for option in options]
    return "\n".join([f"## {title}\n", "| option | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def row(option: Option[Any]) -> str:
    """Return the table row of an option."""
    names = f"`{option.key}`" + "".join(f"<br>older: `{alias}`" for alias in option.aliases)
    cells = (names, type_of(option), _default(option), meaning(option))
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Return a text as the content of a table cell."""
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
