"""Subcommands of ``seatunnel`` by name, in the order of ``seatunnel --help``."""

from collections.abc import Mapping

from seatunnel_core.cli.checkpoints.subcommand import CHECKPOINTS
from seatunnel_core.cli.command import Subcommand
from seatunnel_core.cli.help.arguments import HELP, PLUGINS
from seatunnel_core.cli.iceberg.arguments import ICEBERG
from seatunnel_core.cli.init_arguments import INIT
from seatunnel_core.cli.slots.arguments import SLOTS
from seatunnel_core.cli.state.arguments import STATE
from seatunnel_core.cli.tables.arguments import TABLES

SUBCOMMANDS: Mapping[str, Subcommand] = {
    each.name: each for each in (CHECKPOINTS, HELP, ICEBERG, INIT, PLUGINS, SLOTS, STATE, TABLES)
}
