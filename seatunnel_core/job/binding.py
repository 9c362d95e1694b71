"""What the committables of a sink are bound to, as the manifest keeps it.

A later process whose options differ must not publish them (protocol rules R7 and R8), nor look for what was
published by names of today (R10).
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.stored_fields import Stored, added, paths

Terms = Mapping[str, str]
"""Options, or what stands for some, with their values for a user. One that is left out has its default."""


@frozen(kw_only=True)
class Binding(Stored):
    """The options of a sink, from some epoch on."""

    terms: Terms = paths()
    """Where its committables go and what they mean there."""

    tracks: Terms = added(factory=dict, omitted=True, path=True)
    """What else it finds by what it has published."""

    place: str = added("", omitted=True, path=True)
    """What its save mode is about: ``SaveMode.target``."""

    since: int = 0
    """The first epoch of the process that had these options."""


def followed(bindings: Sequence[Binding], by: Binding) -> tuple[Binding, ...]:
    """With the options of a process that begins now; unchanged when they are the same as before."""
    if bindings and evolve(by, since=bindings[-1].since) == bindings[-1]:
        return tuple(bindings)
    return (*bindings, by)


def in_epoch(bindings: Sequence[Binding], epoch: int) -> Binding | None:
    """Return what stood in an epoch; ``None`` when nobody wrote that down, as older versions did not."""
    return next((each for each in reversed(bindings) if each.since <= epoch), None)


def from_epoch(bindings: Sequence[Binding], epoch: int) -> Iterator[Binding]:
    """All that stood in an epoch or after it."""
    first = in_epoch(bindings, epoch)
    return (each for each in bindings if each is first or each.since > epoch)


def differences(then: Terms, now: Terms) -> list[str]:
    """Return a phrase for each option that differs, such as ``path was '/a' and is '/b'``."""
    keys = [*then, *(key for key in now if key not in then)]
    return [
        f"{key} was {_shown(then.get(key))} and is {_shown(now.get(key))}"
        for key in keys
        if then.get(key) != now.get(key)
    ]


def _shown(value: str | None) -> str:
    return "not set" if value is None else repr(value)
