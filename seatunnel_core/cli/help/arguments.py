"""Arguments of ``seatunnel help`` and ``seatunnel plugins``."""

from collections.abc import Sequence

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand

_KINDS = ("source", "transform", "sink")


@frozen(kw_only=True)
class PluginsArguments(Command):
    """Arguments of ``seatunnel plugins``: none."""


@frozen(kw_only=True)
class HelpArguments(Command):
    """Arguments of ``seatunnel help``: ``[source|transform|sink] [NAME]``, ``CODE`` or ``--json-schema``."""

    kind: str | None
    name: str | None
    """Name of a plugin or page, or the code of an error; ``None`` for a list."""

    json_schema: bool


def _parse_plugins(parser: Parser, argv: Sequence[str]) -> PluginsArguments:
    parser.parse_args(argv)
    return PluginsArguments()


def _parse_help(parser: Parser, argv: Sequence[str]) -> HelpArguments:
    parser.usage = (
        "seatunnel help [source|transform|sink] [NAME]\n       seatunnel help CODE\n       seatunnel help --json-schema"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME",
        help="name of a connector, transform or page, or an error code; by default, list all",
    )
    parser.add_argument("--json-schema", action="store_true", help="print the JSON Schema of job files, for editors")
    values = parser.parse_args(argv)
    words: list[str] = values.words
    kind = words.pop(0).lower() if words and words[0].lower() in _KINDS else None
    if len(words) > 1 or (values.json_schema and values.words):
        parser.error(f"expected one name, not {' '.join(argv)!r}")
    return HelpArguments(kind=kind, name=words[0] if words else None, json_schema=values.json_schema)


HELP = Subcommand(
    name="help",
    summary="print the page of a connector or transform, or explain the code of an error",
    parse=_parse_help,
)
PLUGINS = Subcommand(
    name="plugins",
    summary="list the installed storages, sources, transforms and sinks",
    parse=_parse_plugins,
)
