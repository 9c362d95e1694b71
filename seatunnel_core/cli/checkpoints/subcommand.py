"""Subcommand ``seatunnel checkpoints``, whose arguments ``main`` parses later."""

from collections.abc import Sequence

from attrs import field, frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand


@frozen(kw_only=True)
class CheckpointsCommand(Command):
    """Unparsed arguments of ``seatunnel checkpoints VERB …``."""

    argv: tuple[str, ...] = field(repr=False)
    """Arguments for ``parse_checkpoints``, which imports the inspector; may contain secrets."""


def _parse(_parser: Parser, argv: Sequence[str]) -> CheckpointsCommand:
    return CheckpointsCommand(argv=tuple(argv))


CHECKPOINTS = Subcommand(
    name="checkpoints",
    summary="inspect and maintain checkpoint storages: list, show, diff, verify, export, copy, gc",
    parse=_parse,
)
