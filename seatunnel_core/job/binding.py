"""Sink options that determine the target of committables, stored in the manifest.

A process with different options must not publish the committables (protocol rules R7 and R8), and must search for
published output with the earlier options (R10).
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.stored_fields import Stored, added, required

Terms = Mapping[str, str]
"""Options with values for display. A missing option has its default."""


@frozen(kw_only=True)
class Binding(Stored):
    """Options of a sink that are valid from an epoch on."""

    terms: Terms = required(path=True)
    """Options that define the target and the meaning of committables."""

    tracks: Terms = added(factory=dict, omitted=True, path=True)
    """Further options that identify published output."""

    place: str = added("", omitted=True, path=True)
    """Target of the save mode: ``SaveMode.target``."""

    since: int = 0
    """First epoch of the first process with these options."""


def followed(bindings: Sequence[Binding], by: Binding) -> tuple[Binding, ...]:
    """Append the binding of a process that starts now, unless it equals the last one."""
    if bindings and evolve(by, since=bindings[-1].since) == bindings[-1]:
        return tuple(bindings)
    return (*bindings, by)


def in_epoch(bindings: Sequence[Binding], epoch: int) -> Binding | None:
    """Return the binding that is valid in an epoch; ``None`` if an older version did not record it."""
    return next((each for each in reversed(bindings) if each.since <= epoch), None)


def from_epoch(bindings: Sequence[Binding], epoch: int) -> Iterator[Binding]:
    """Return the bindings of an epoch and all later ones."""
    first = in_epoch(bindings, epoch)
    return (each for each in bindings if each is first or each.since > epoch)


def have_same_target(then: Binding, now: Binding) -> bool:
    """Return True if two bindings of a sink are known to have one target, even if other options differ."""
    if then.terms == now.terms:
        return True
    return bool(now.place) and (then.terms.get("plugin"), then.place) == (now.terms.get("plugin"), now.place)


def differences(then: Terms, now: Terms) -> list[str]:
    """Return a phrase for each different option, such as ``path was '/a' and is '/b'``."""
    keys = [*then, *(key for key in now if key not in then)]
    return [
        f"{key} was {_shown(then.get(key))} and is {_shown(now.get(key))}"
        for key in keys
        if then.get(key) != now.get(key)
    ]


def _shown(value: str | None) -> str:
    return "not set" if value is None else repr(value)
