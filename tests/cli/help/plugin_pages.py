"""Generates the options and guarantees on the pages of plugins, and the overview ``docs/reference/connectors.md``.

Run it with ``python -m tests.cli.help.plugin_pages``. It keeps the text outside the two marks of a page.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seatunnel_core.config.option import Option
from seatunnel_core.connector_api.capabilities import SupportsRollback
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import guarantees, summary
from seatunnel_core.registry.lookup import Plugin
from tests.planning.options_page import cell, row

DOCS = Path(__file__).parents[3] / "docs" / "reference"
BEGIN = "<!-- made by python -m tests.cli.help.plugin_pages from the declarations in the code -->\n"
END = "<!-- end of the generated part -->\n"
OVERVIEW = """# Connectors and transforms

The tables list the connectors and transforms of the engine. Each name links to a page with a job, the options and the
behaviour; `seatunnel help NAME` prints the same page. The guarantees apply when work is repeated after a failure:

* A **replayable** source returns the same rows when it reads a split again. *Optional* means that the job's option
  `replayable` sets this.
* An **exactly-once** sink stages rows and publishes them with the checkpoint that contains them. An **idempotent** sink
  may write a row again, with the same result. An **at-least-once** sink may duplicate rows.
* A sink with **rollback** can remove published rows when a job returns to an older checkpoint (`--retract`).

To add your own, see [write a connector](../start/write-a-connector.md) and the [interface](connector-interface.md).
`seatunnel plugins` lists all installed plugins. [Java-parity](../start/java-parity.md#what-is-not-here) lists the other
connectors of Apache SeaTunnel. `python -m tests.cli.help.plugin_pages` generates this page.
"""
BASES = {
    **{
        (kind, f"{name}File"): "LocalFile"
        for kind in ("source", "sink")
        for name in ("Ftp", "Hdfs", "Oss", "S3", "Sftp")
    },
    **{
        ("source", name): "Http"
        for name in ("Github", "Gitlab", "Jira", "Klaviyo", "Lemlist", "MyHours", "Notion", "OneSignal", "Persistiq")
    },
    **{("sink", name): "Http" for name in ("DingTalk", "Feishu", "Slack", "WeChat")},
}
"""Plugins with the options of another one, by kind and name; their pages list only options that the other lacks."""


def built_in() -> list[Plugin]:
    return [each for each in lookup.plugins() if each.distribution == "seatunnel-core" and each.declared is not None]


def page_of(plugin: Plugin) -> Path:
    """Return the path of a page; a source and a sink with the same name share it."""
    return DOCS / ("transforms" if plugin.kind == "transform" else "connectors") / f"{plugin.identifier}.md"


def pages() -> dict[Path, str]:
    """Return the expected text of every page; a page that does not exist yet has only the generated part."""
    by_page: dict[Path, list[Plugin]] = {}
    for plugin in built_in():
        by_page.setdefault(page_of(plugin), []).append(plugin)
    found = {path: _page(path, plugins) for path, plugins in by_page.items()}
    return {**found, DOCS / "connectors.md": overview()}


def overview() -> str:
    connectors: dict[str, dict[str, Plugin]] = {}
    for plugin in built_in():
        if plugin.kind != "transform":
            connectors.setdefault(plugin.identifier, {})[plugin.kind] = plugin
    rows = [_connector_row(name, connectors[name]) for name in sorted(connectors, key=str.lower)]
    transforms = [_transform_row(plugin) for plugin in built_in() if plugin.kind == "transform"]
    return "\n".join(
        [
            OVERVIEW,
            "## Connectors\n",
            "| name | source | sink | description |\n|---|---|---|---|",
            *rows,
            "\n## Transforms\n",
            "[What all transforms have in common](../guides/transforms.md).\n",
            "| name | description |\n|---|---|",
            *transforms,
            "",
        ]
    )


def _connector_row(name: str, by_kind: Mapping[str, Plugin]) -> str:
    source, sink = by_kind.get("source"), by_kind.get("sink")
    what = summary((source or sink).declared).partition(". ")[0].removesuffix(".")  # type: ignore[union-attr, arg-type]
    return f"| {_link(name)} | {_source_guarantee(source)} | {_sink_guarantee(sink)} | {cell(what)} |"


def _transform_row(plugin: Plugin) -> str:
    what = summary(plugin.declared).partition(". ")[0].removesuffix(".")  # type: ignore[arg-type]
    return f"| {_link(plugin.identifier, 'transforms')} | {cell(what)} |"


def _link(name: str, folder: str = "connectors") -> str:
    return f"[{name}]({folder}/{name}.md)"


def _source_guarantee(plugin: Plugin | None) -> str:
    if plugin is None:
        return ""
    declared: Any = plugin.declared
    if any(option.key == "replayable" for option in declared.declared):
        return "replayable: optional"
    return "replayable" if declared.replayable else "not replayable"


def _sink_guarantee(plugin: Plugin | None) -> str:
    if plugin is None:
        return ""
    declared: Any = plugin.declared
    return guarantees(declared)[0].partition(":")[0] + (", rollback" if issubclass(declared, SupportsRollback) else "")


def _page(path: Path, plugins: Iterable[Plugin]) -> str:
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {path.stem}\n"
    text = text if BEGIN in text else f"{text.rstrip()}\n\n{BEGIN}{END}"
    before, _, rest = text.partition(BEGIN)
    return (
        before + BEGIN + "\n" + "\n".join(_section(plugin) for plugin in plugins) + "\n" + END + rest.partition(END)[2]
    )


def _section(plugin: Plugin) -> str:
    declared: Any = plugin.declared
    base = BASES.get((plugin.kind, plugin.identifier))
    inherited = {option.key: option for option in _declared(plugin.kind, base)} if base else {}
    rows = [row(option) for option in declared.declared if not _is_listed(option, inherited)]
    table = (
        ["| option | type | default | meaning |", "|---|---|---|---|", *rows] if rows else ["It has no own options."]
    )
    modules = ", ".join(f"`{name}`" for name in declared.task_modules)
    needs = [f"Python packages that its tasks import: {modules}.\n"] if modules else []
    return "\n".join(
        [
            f"## The {plugin.kind}\n",
            f"{summary(declared)}\n",
            *(f"* {line}" for line in guarantees(declared)),
            "",
            *needs,
            *table,
            "",
            f"It also has the {_others(plugin, base, inherited)}.",
            "",
        ]
    )


def _is_listed(option: Option[Any], inherited: Mapping[str, Option[Any]]) -> bool:
    """Return whether the page of the base describes this option: its columns in the table are the same there."""
    base = inherited.get(option.key)
    return base is not None and row(base) == row(option)


def _declared(kind: str, name: str) -> Sequence[Option[Any]]:
    found: Any = next(each.declared for each in built_in() if (each.kind, each.identifier) == (kind, name))
    options: Sequence[Option[Any]] = found.declared
    return options


def _others(plugin: Plugin, base: str | None, inherited: Mapping[str, Option[Any]]) -> str:
    """Return the links to the options that stand on other pages."""
    every = f"options of [every {plugin.kind}](../options.md#every-{plugin.kind})"
    if base is None:
        return every
    declared: Any = plugin.declared
    own = {option.key for option in declared.declared}
    without = [f"`{key}`" for key in inherited if key not in own]
    exceptions = f" except {', '.join(without)}" if without else ""
    return f"options of [{base}]({base}.md#the-{plugin.kind}){exceptions}, and the {every}"


def write() -> None:
    for page, made in pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    write()
