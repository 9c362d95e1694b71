"""The real protocol as an automaton whose local states are numbers, made as they are reached.

A protocol object is a function of the events that it took, so it needs no copy: each local state remembers one history
that leads to it. Two histories that leave equal objects behind lead to the same state.
"""

import enum
from collections import deque
from collections.abc import Hashable
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import attrs

from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.limits import Limits

CALLABLES = (FunctionType, MethodType, BuiltinMethodType, partial, type)
CONSTANT = frozenset({"_limits", "_policy", "topology", "spec", "_handlers"})
"""Attributes that never change, and are the same in every object."""


class Automaton:
    """Takes events and gives commands, as ``PipelineProtocol`` does, from any state that was ever reached."""

    def __init__(self, topology: Topology, policy: CheckpointPolicy, limits: Limits) -> None:
        self._topology = topology
        self._policy = policy
        self._limits = limits
        self._histories: list[tuple[RestoreRequest, tuple[Event, ...]]] = []
        self._phases: list[Phase] = []
        self._numbers: dict[Hashable, int] = {}
        self._steps: dict[tuple[int, Hashable], tuple[int, tuple[Command, ...]]] = {}

    @property
    def states(self) -> int:
        return len(self._histories)

    @property
    def steps(self) -> int:
        """How many different steps the real objects were made to take."""
        return len(self._steps)

    def phase(self, state: int) -> Phase:
        return self._phases[state]

    def first(self, request: RestoreRequest) -> int:
        """The state of one that nothing has happened to."""
        return self._number(self._made(request, ()), (request, ()))

    def step(self, state: int, event: Event, name: Hashable) -> tuple[int, tuple[Command, ...]]:
        """What follows ``state`` when ``event`` comes; ``name`` stands for the event, which need not be hashable."""
        known = self._steps.get((state, name))
        if known is None:
            request, history = self._histories[state]
            protocol = self._made(request, history)
            commands = protocol.handle(event)
            known = self._steps[state, name] = self._number(protocol, (request, (*history, event))), commands
        return known

    def _made(self, request: RestoreRequest, history: tuple[Event, ...]) -> PipelineProtocol:
        protocol = PipelineProtocol(
            job_id="job",
            pipeline_id=1,
            epoch_minimum=1,
            topology=self._topology,
            policy=self._policy,
            limits=self._limits,
            restore=request,
        )
        for event in history:
            protocol.handle(event)
        return protocol

    def _number(self, protocol: PipelineProtocol, history: tuple[RestoreRequest, tuple[Event, ...]]) -> int:
        number = self._numbers.setdefault(canonical(protocol, {}), len(self._histories))
        if number == len(self._histories):
            self._histories.append(history)
            self._phases.append(protocol.phase)
        return number


def canonical(value: Any, seen: dict[int, int]) -> Hashable:
    """Equal for objects that will behave equally: all attributes, all the way down. Functions count as equal: which
    one a timer calls is told by its key, and all others are the same in every protocol."""
    if value is None or isinstance(value, int | str | bytes | float | enum.Enum):
        return value
    if isinstance(value, CALLABLES):
        return "function"
    if isinstance(value, dict):
        return tuple((canonical(key, seen), canonical(each, seen)) for key, each in value.items())
    if isinstance(value, list | tuple | deque):
        return tuple(canonical(each, seen) for each in value)
    if isinstance(value, set | frozenset):
        return frozenset(canonical(each, seen) for each in value)
    if attrs.has(type(value)):
        fields = (field.name for field in attrs.fields(type(value)))
        return (type(value).__name__, *(canonical(getattr(value, name), seen) for name in fields))
    if id(value) in seen:
        return ("seen", seen[id(value)])
    seen[id(value)] = len(seen)
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = sorted({*slots, *getattr(value, "__dict__", ())} - CONSTANT)
    return (type(value).__name__, *((name, canonical(getattr(value, name), seen)) for name in names))
