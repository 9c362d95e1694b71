"""All kinds of faults: those of the modules that are imported here."""

from tests.server.nemesis import attacks, clocks, cuts, disks, kills, pauses
from tests.server.nemesis.kinds import KINDS, Kind

PLAYED_BY = (kills, pauses, cuts, disks, clocks, attacks)

__all__ = ["KINDS", "PLAYED_BY", "Kind"]
