"""Plugin list of ``seatunnel help``, and the description of each plugin: purpose, options and guarantees."""

import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from seatunnel_core.cli.help.printed import error_text, terminal_width
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.option import Option
from seatunnel_core.errors import UsageError
from seatunnel_core.job.node import COMMON
from seatunnel_core.manual.errors import coded
from seatunnel_core.manual.pages import pages
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import described, example, guarantees, summary
from seatunnel_core.registry.lookup import Plugin


def print_help(kind: str | None, name: str | None) -> bool:
    """Print a plugin's description, a list of plugins, or a plugin's error; return True if the plugins can be used.

    ``kind`` is ``"source"``, ``"transform"`` or ``"sink"``, or ``None`` for all three. ``name`` is a plugin name or an
    error code, case-insensitive; ``None`` for a list of plugins.
    """
    kinds = (kind,) if kind else tuple(lookup.GROUPS)
    if name is None:
        _print_list(kinds)
        return True
    named = lookup.named(kinds, name)
    if not named and kind is None and (text := _text_of_plugins_error(name)):
        print(text)
        return True
    if not named:
        raise UsageError(_unknown(kinds, name))
    print("\n\n".join(_about(plugin) for plugin in named))
    return all(plugin.declared is not None for plugin in named)


def _text_of_plugins_error(code: str) -> str:
    """Return the page of an error that a plugin defines. Loads all plugins."""
    for _ in lookup.plugins():
        pass
    return error_text(code)


def _unknown(kinds: Sequence[str], name: str) -> str:
    codes = difflib.get_close_matches(name.upper(), coded(), n=1) if "-" in name else []
    near = difflib.get_close_matches(name.lower(), pages(), n=1, cutoff=0.8) if len(kinds) > 1 else []
    if codes:
        mistake = f"there is no error code {name!r}; did you mean {codes[0]}?"
    elif near:
        mistake = f"there is no page {name!r}; did you mean {near[0]}?"
    else:
        mistake = lookup.unknown(kinds, name)
    return f"{mistake}\nSee: seatunnel help"


def _print_list(kinds: Iterable[str]) -> None:
    plugins = list(lookup.plugins())
    for kind in kinds:
        print(f"{kind}s:")
        for plugin in (each for each in plugins if each.kind == kind):
            said = summary(plugin.declared).partition(". ")[0] if plugin.declared else plugin.state
            print(
                f"  {plugin.identifier:<20} {textwrap.shorten(said, max(20, terminal_width() - 23), placeholder=' …')}"
            )
    print(
        "\nseatunnel help NAME prints the page of a plugin, seatunnel help CODE explains an error, and seatunnel "
        "help --json-schema prints the schema of job files for editors.\nOther pages, such as seatunnel help "
        f"restore: {', '.join(sorted(pages()))}"
    )


def _about(plugin: Plugin) -> str:
    heading = f"{plugin.identifier}: a {plugin.kind} of {plugin.distribution} {plugin.version}"
    if plugin.declared is None:
        return f"{heading}\n{_wrapped(plugin.state, 2)}"
    declared: Any = plugin.declared
    own = {option.key for option in declared.declared}
    common = [option for option in COMMON[Kind(plugin.kind)] if option.key not in own]
    said = summary(declared)
    parts = [
        *([_wrapped(said, 2)] if said else []),
        "\n".join(["guarantee:", *(_wrapped(line, 2) for line in guarantees(declared))]),
        "\n".join(["options:", *(_options(declared.declared) if declared.declared else ["  none"])]),
        "\n".join([f"options of every {plugin.kind}:", *_options(common)]),
        "example:\n" + textwrap.indent(example(plugin.kind, declared), "  "),
    ]
    if declared.task_modules:
        parts.insert(2, f"Python packages that its tasks import: {', '.join(declared.task_modules)}")
    return "\n\n".join([heading, *parts])


def _options(options: Iterable[Option[Any]]) -> Iterator[str]:
    for names, what, meaning in described(options):
        yield f"  {names}  ({what})"
        yield _wrapped(meaning, 6)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, terminal_width(), initial_indent=" " * indent, subsequent_indent=" " * indent)
