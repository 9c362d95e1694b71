"""What goes wrong in a simulated cluster, how often, and how often it did."""

from random import Random
from typing import Any

from attrs import asdict, evolve, frozen


@frozen(kw_only=True)
class Faults:
    """How often what goes wrong. Rates are per second of virtual time, and for each node where it concerns one."""

    kill_agent: float = 0.02
    kill_host: float = 0.02
    power: float = 0.006
    """A node loses all of its processes, and its machine answers nothing for a while."""

    pause_agent: float = 0.02
    pause_host: float = 0.02
    pause_node: float = 0.006
    """Agent and hosts stand still together."""

    cut: float = 0.03
    """Nothing gets from one machine to another one; the other way is open."""

    cut_both: float = 0.012
    isolate: float = 0.006
    """Nothing gets to a machine, or from it."""

    cut_storage: float = 0.012
    """A node does not reach the storage."""

    storage_fails: float = 0.006
    storage_full: float = 0.004
    storage_read_only: float = 0.002
    storage_slow: float = 0.008
    jump: float = 0.02
    """The wall clock of a node moves by up to an hour."""

    lost: float = 0.12
    """Of all messages."""

    late: float = 0.12
    doubled: float = 0.12
    operation_lost: float = 0.04
    """Of all operations of the storage: not carried out, and an error."""

    operation_in_doubt: float = 0.04
    """Carried out, and an error."""

    operation_slow: float = 0.08


CALM = Faults(**dict.fromkeys(asdict(Faults()), 0.0))

PER_MESSAGE = ("lost", "late", "doubled")
PER_OPERATION = ("operation_lost", "operation_in_doubt", "operation_slow")


def drawn(random: Random) -> Faults:
    """Return the faults of a run: each kind never, as often as usual, or more often; so that some come alone."""
    usual = Faults()
    some = {kind: rate * random.choice((0.0, 0.5, 1.0, 1.5)) for kind, rate in asdict(usual).items()}
    if random.random() < 0.1:  # all at once
        some = {kind: rate * 1.5 for kind, rate in asdict(usual).items()}
    return evolve(usual, **some)


def rate(faults: Faults, kind: str) -> float:
    """Return the rate of a kind."""
    found: Any = getattr(faults, kind)
    return float(found)
