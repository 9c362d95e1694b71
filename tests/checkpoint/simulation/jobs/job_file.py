"""The job file, as people change it between two starts, and put it back when they are told to."""

import random
import re
from typing import Any

from attrs import define, field

from seatunnel_core.config.job_file import Kind
from tests.checkpoint.simulation.jobs.scenario import Node

_TOLD_OTHERWISE = re.compile(r"sink '([^']+)' (?:has|cannot find)[^\n]*")
_CHANGED = re.compile(r"(\w+) was (not set|'[^']*') and is (?:not set|'[^']*')")
_MISSING = re.compile(r"sink '([^']+)' was removed from the job ")


@define
class JobFile:
    """Its nodes, and what people know of how they were."""

    rng: random.Random
    nodes: list[Node]
    names: dict[str, str] = field(factory=dict)
    """How sinks that were renamed were called before."""

    gone: dict[str, Node] = field(factory=dict)
    """The sinks that were taken out, or renamed."""

    has_lost_some: bool = False
    """Whether a sink was ever taken out, or renamed: what it has published stays where it is."""

    changes: int = 0
    side_by_side: bool = False
    """Whether a renamed sink came back beside itself: what both publish is there twice."""

    def known_as(self, sink: str) -> str:
        """What a sink was called first."""
        while sink in self.names and not self.side_by_side:
            sink = self.names[sink]
        return sink

    # -- changes

    def change(self, kind: str) -> None:
        """Change something of a sink, or which sinks there are; nothing where that cannot be."""
        sinks = [node for node in self.nodes if node[0] is Kind.SINK]
        sink = self.rng.choice(sinks)
        self.changes += 1
        match kind:
            case "swap" if len(sinks) > 1:
                one, other = self.rng.sample(sinks, 2)
                self._put(one, path=other[2]["path"])
                self._put(other, path=one[2]["path"])
            case "rename":
                self._rename(sink)
            case "drop" if any(
                set(other[2]["plugin_input"]) >= set(sink[2]["plugin_input"]) for other in sinks if other != sink
            ):
                self._take_out(sink)
            case "plugin":
                self._put(sink, identifier="Simulated" if sink[1] == "SimulatedAtOnce" else "SimulatedAtOnce")
            case "path" | "staging":
                self._put(sink, **{kind: f"/{kind}-{self.changes}"})
            case "staged":
                self._put(sink, staged=not sink[2].get("staged", True))
            case "tuning":
                self._put(sink, tuning=self.changes)

    def _put(self, node: Node, identifier: str = "", **changed: Any) -> None:
        """With other options; one that is ``None`` is left out."""
        kind, before, options = node
        said = {key: value for key, value in {**options, **changed}.items() if value is not None}
        self.nodes[self.nodes.index(node)] = kind, identifier or before, said

    def _rename(self, sink: Node) -> None:
        before = sink[2]["name"]
        name = f"{before}-v{self.changes}"
        self.gone[before] = sink
        self.has_lost_some = True
        self.names[name] = before
        self._put(sink, name=name, title=name)

    def _take_out(self, sink: Node) -> None:
        self.gone[sink[2]["name"]] = sink
        self.has_lost_some = True
        self.nodes.remove(sink)

    # -- what people do who are told that it does not go

    def mend(self, words: str) -> bool:
        """Do what a refusal says. Returns whether it says that anything is to be put back."""
        mended = False
        for sentence in _TOLD_OTHERWISE.finditer(words):
            node = self._sink(sentence[1])
            for key, then in _CHANGED.findall(sentence[0]) if node is not None else ():
                self._put_option_back(sentence[1], key, then)
                mended = True
        for sentence in _MISSING.finditer(words):
            mended = self._put_sink_back(sentence[1]) or mended
        return mended

    def _sink(self, name: str) -> Node | None:
        return next((node for node in self.nodes if node[2].get("name") == name), None)

    def _put_option_back(self, name: str, key: str, then: str) -> None:
        node = self._sink(name)
        assert node is not None
        value: Any = None if then == "not set" else then.strip("'\"")
        if key == "plugin":
            self._put(node, identifier=value)
        else:
            self._put(node, **{key: value if key != "staged" else (False if value == "false" else None)})  # type: ignore[arg-type]

    def _put_sink_back(self, name: str) -> bool:
        if name not in self.gone or self._sink(name) is not None:
            return False
        self.nodes.append(self.gone.pop(name))
        self.side_by_side = self.side_by_side or name in self.names.values()
        return True

    def put_all_back(self) -> None:
        for name in list(self.gone):
            self._put_sink_back(name)
