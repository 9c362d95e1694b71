"""``seatunnel help``: the purpose, options and promises of a plugin, or the meaning of an error's code."""

import difflib
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from seatunnel_core.cli.help.printed import error_text, print_page
from seatunnel_core.config.job_file import Kind
from seatunnel_core.config.option import Option
from seatunnel_core.errors import UsageError
from seatunnel_core.job.node import COMMON
from seatunnel_core.manual.errors import coded
from seatunnel_core.manual.pages import pages
from seatunnel_core.registry import lookup
from seatunnel_core.registry.description import described, example, guarantees, summary
from seatunnel_core.registry.lookup import Plugin

_WIDEST = 100


def print_help(kind: str | None, name: str | None) -> bool:
    """Print the list of plugins, or everything about one plugin, error or page; return whether the plugins can be used.

    Args:
        kind: ``"source"``, ``"transform"`` or ``"sink"``; ``None`` for all three, and for errors and pages.
        name: The name of a plugin, the code of an error, or a page of the documentation, in any case; ``None`` for the
            list.

    Raises:
        UsageError: Nothing has this name; the message suggests names.
    """
    kinds = (kind,) if kind else tuple(lookup.GROUPS)
    if name is None:
        _print_list(kinds)
        return True
    named = [each for each in lookup.plugins() if each.kind in kinds and each.identifier.lower() == name.lower()]
    if not named and kind is None and (text := error_text(name, _width())):
        print(text)
        return True
    if not named and kind is None and print_page(name):
        return True
    if not named:
        raise UsageError(_unknown(kinds, name))
    print("\n\n".join(_about(plugin) for plugin in named))
    return all(plugin.declared is not None for plugin in named)


def _unknown(kinds: Sequence[str], name: str) -> str:
    codes = difflib.get_close_matches(name.upper(), coded(), n=1) if "-" in name else []
    mistake = f"no error has the code {name!r}; did you mean {codes[0]}?" if codes else lookup.unknown(kinds, name)
    return f"{mistake}\nSee: seatunnel help"


def _print_list(kinds: Iterable[str]) -> None:
    plugins = list(lookup.plugins())
    for kind in kinds:
        print(f"{kind}s:")
        for plugin in (each for each in plugins if each.kind == kind):
            said = summary(plugin.declared).partition(". ")[0] if plugin.declared else plugin.state
            print(f"  {plugin.identifier:<20} {textwrap.shorten(said, max(20, _width() - 23), placeholder=' …')}")
    print(
        "\nseatunnel help NAME describes one, and seatunnel help CODE what an error means; "
        "seatunnel help --json-schema is for editors."
        f"\nPages of the documentation, as in seatunnel help restore: {', '.join(sorted(pages()))}"
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
        "\n".join(["options:", *(_options(declared.declared) if declared.declared else ["  none of its own"])]),
        "\n".join([f"options of every {plugin.kind}:", *_options(common)]),
        "example:\n" + textwrap.indent(example(plugin.kind, declared), "  "),
    ]
    if declared.task_modules:
        parts.insert(2, f"needs where its tasks run: {', '.join(declared.task_modules)}")
    return "\n\n".join([heading, *parts])


def _options(options: Iterable[Option[Any]]) -> Iterator[str]:
    for names, what, meaning in described(options):
        yield f"  {names}  ({what})"
        yield _wrapped(meaning, 6)


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, _width(), initial_indent=" " * indent, subsequent_indent=" " * indent)


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size().columns)
