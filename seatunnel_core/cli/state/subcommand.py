"""The subcommand ``seatunnel state``."""

from collections.abc import Sequence

from attrs import frozen

from seatunnel_core.cli.command import Command, Parser, Subcommand
from seatunnel_core.cli.state.arguments import StateArguments, parse_state


@frozen(kw_only=True)
class StateCommand(Command):
    """``seatunnel state VERB …``."""

    arguments: StateArguments

    def execute(self, *, last: bool) -> int:
        from seatunnel_core.cli.state.command import state

        return state(self.arguments)


def _parse(parser: Parser, argv: Sequence[str]) -> StateCommand:
    return StateCommand(arguments=parse_state(parser, argv))


STATE = Subcommand(name="state", summary="show, set or reset how far jobs with increments were read", parse=_parse)
