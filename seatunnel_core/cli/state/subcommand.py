"""The subcommand ``seatunnel state``."""

from seatunnel_core.cli.command import Subcommand
from seatunnel_core.cli.state.arguments import parse_state

STATE = Subcommand(name="state", summary="show, set or reset how far jobs with increments were read", parse=parse_state)
