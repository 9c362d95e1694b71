"""R10 broken on purpose, one part of it at a time, to show that the simulation would notice."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from attrs import evolve, frozen

from seatunnel_core.checkpoint import context as context_module
from seatunnel_core.checkpoint import start as start_module
from seatunnel_core.checkpoint.commands import Retract
from seatunnel_core.checkpoint.decisions import base as base_module
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, Rewind
from seatunnel_core.checkpoint.start import Start
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.work.retraction import Retraction


@frozen
class RewindMutation:
    what: str
    broken: Callable[[], AbstractContextManager[Any]]

    def __str__(self) -> str:
        return self.what


def _other_takes(made: Callable[[Retraction], Retraction]) -> Callable[[], AbstractContextManager[Any]]:
    """What is taken back is told from another retraction."""
    original = Retraction.takes

    def takes(self: Retraction, committable_id: str, **of: int) -> bool:
        return original(made(self), committable_id, **of)

    return lambda: patch.object(Retraction, "takes", takes)


def _of_the_base_only() -> AbstractContextManager[Any]:
    """What newer epochs published stays."""
    original = Retraction.takes

    def takes(self: Retraction, committable_id: str, *, epoch: int, **of: int) -> bool:
        return epoch <= self.base_epoch and original(self, committable_id, epoch=epoch, **of)

    return patch.object(Retraction, "takes", takes)


def _never_refused() -> AbstractContextManager[Any]:
    """Both guards are gone: the choice of the base, and the question of what the targets show."""
    original = RestoreRequest.as_of

    def as_of(self: RestoreRequest, checkpoints: Any) -> RestoreRequest:
        request = original(self, checkpoints)
        rewind = Rewind.ACCEPTED if request.rewind is Rewind.REFUSED else request.rewind
        return evolve(request, rewind=rewind, requires_known=False)

    return patch.object(RestoreRequest, "as_of", as_of)


def _void_counts() -> AbstractContextManager[Any]:
    return patch.object(base_module.lineage, "live", lambda infos: frozenset(info.ref for info in infos))  # type: ignore[attr-defined]


def _not_recorded() -> AbstractContextManager[Any]:
    def encode(states: VertexStates) -> bytes:
        return codec.encode(evolve(states, retracting=None))

    return patch.object(context_module, "codec", SimpleNamespace(encode=encode))


def _before_the_sweep() -> AbstractContextManager[Any]:
    """The rows go when the base is being committed; what an older engine publishes until the sweep stays."""
    original = Start.base_committed

    def base_committed(self: Any) -> None:
        if self._restored.retracting is not None:
            self._wiring.do(Retract(epoch=self._context.epoch, retractions=_all_of(self)))
        original(self)

    return patch.object(Start, "base_committed", base_committed)


def _all_of(start: Any) -> Mapping[str, Retraction]:
    gone = start_module.retractions(  # type: ignore[attr-defined]
        start._restored,
        start._context.topology,
        epoch=start._context.epoch,
        base_epoch=start._restored.retracting.epoch,
    )
    return dict(gone)


REWIND_MUTATIONS: tuple[RewindMutation, ...] = (
    RewindMutation("go back unasked", _never_refused),
    RewindMutation("go back to what is orphaned", _void_counts),
    RewindMutation("go back again in every restart", lambda: patch.object(
        RestoreRequest, "as_of", lambda self, checkpoints: self)),
    RewindMutation("take nothing back", lambda: patch.object(
        Start, "swept", lambda self: self._enumerate())),
    RewindMutation("do not record that rows are to be taken back", _not_recorded),
    RewindMutation("take back before the sweep", _before_the_sweep),
    RewindMutation("leave what had no number yet", _other_takes(lambda self: evolve(self, next_units={}))),
    RewindMutation("leave what was in flight", _other_takes(lambda self: evolve(self, in_flight={}))),
    RewindMutation("leave what is of newer epochs", _of_the_base_only),
)  # fmt: skip
"""What drawn seeds show too rarely is in the table of ``test_restore.py``: units of older epochs, and newer starts."""
