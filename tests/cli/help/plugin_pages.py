"""``python -m tests.cli.help.plugin_pages`` writes what the code declares into the pages of plugins, and
``docs/reference/plugins.md``. What stands outside the two marks of a page is written by hand, and stays.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import guarantees, summary
from seatunnel_core.registry.lookup import Plugin
from tests.planning.options_page import cell, row

DOCS = Path(__file__).parents[3] / "docs" / "reference"
BEGIN = "<!-- made by python -m tests.cli.help.plugin_pages from the declarations in the code -->\n"
END = "<!-- end of what is made -->\n"
OVERVIEW = """# Every connector and transform

What comes with the engine, what it promises when work is repeated after a failure, and its page. `seatunnel plugins`
lists what is installed, third parties' too, and `seatunnel help NAME` prints the same about each of those. This page is
made from the declarations in the code by `python -m tests.cli.help.plugin_pages`, and a test compares the two. What
Apache SeaTunnel has beyond these stands in [java-parity](../start/java-parity.md#what-is-not-here).
"""


def built_in() -> list[Plugin]:
    return [each for each in lookup.plugins() if each.distribution == "seatunnel-core" and each.declared is not None]


def page_of(plugin: Plugin) -> Path:
    """A source and a sink of one name share a page."""
    return DOCS / ("transforms" if plugin.kind == "transform" else "connectors") / f"{plugin.identifier}.md"


def pages() -> dict[Path, str]:
    """Every page as it should be; one that is missing has nothing yet besides what is made."""
    by_page: dict[Path, list[Plugin]] = {}
    for plugin in built_in():
        by_page.setdefault(page_of(plugin), []).append(plugin)
    found = {path: _page(path, plugins) for path, plugins in by_page.items()}
    return {**found, DOCS / "plugins.md": overview()}


def overview() -> str:
    parts = [OVERVIEW]
    for kind in lookup.GROUPS:
        rows = [_overview_row(plugin) for plugin in built_in() if plugin.kind == kind]
        parts.append(
            "\n".join([f"## {kind.capitalize()}s\n", "| name | what | guarantee |", "|---|---|---|", *rows, ""])
        )
    return "\n".join(parts)


def _overview_row(plugin: Plugin) -> str:
    declared: Any = plugin.declared
    link = f"[{plugin.identifier}]({page_of(plugin).relative_to(DOCS)})"
    promised = "; ".join(line.partition(":")[0] for line in guarantees(declared))
    return f"| {link} | {cell(summary(declared))} | {cell(promised)} |"


def _page(path: Path, plugins: Iterable[Plugin]) -> str:
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {path.stem}\n"
    text = text if BEGIN in text else f"{text.rstrip()}\n\n{BEGIN}{END}"
    before, _, rest = text.partition(BEGIN)
    return (
        before + BEGIN + "\n" + "\n".join(_section(plugin) for plugin in plugins) + "\n" + END + rest.partition(END)[2]
    )


def _section(plugin: Plugin) -> str:
    declared: Any = plugin.declared
    rows = [row(option) for option in declared.declared]
    table = ["| option | type | default | meaning |", "|---|---|---|---|", *rows] if rows else ["It has no options."]
    needs = [f"Its tasks need {', '.join(declared.task_modules)}.\n"] if declared.task_modules else []
    return "\n".join(
        [
            f"## The {plugin.kind}\n",
            f"{summary(declared)}\n",
            *(f"* {line}" for line in guarantees(declared)),
            "",
            *needs,
            *table,
            "",
            f"Besides, it has the options of [every {plugin.kind}](../options.md#every-{plugin.kind}).",
            "",
        ]
    )


def write() -> None:
    for page, made in pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    write()
