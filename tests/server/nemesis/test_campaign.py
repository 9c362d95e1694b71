"""The nemesis draws what was played least, and no kind twice at once."""

import random
from pathlib import Path
from typing import Any, cast

from tests.server.nemesis.campaign import Nemesis
from tests.server.nemesis.ground import PLANS, Ground
from tests.server.nemesis.kinds import Kind
from tests.server.nodes import Nodes


def test_a_kind_that_lasts_is_not_drawn_again(tmp_path: Path) -> None:
    """A disk that was filled twice at once was empty again when the first of both was over."""
    played: list[str] = []

    def of(name: str) -> Kind:
        def play(_ground: Ground, _draw: random.Random) -> Any:
            assert name not in played, "it lasts"
            played.append(name)
            yield
            played.remove(name)

        return Kind(name=name, play=play, lasts_s=(0.3, 0.3), fits=lambda _: True)

    class Nobody:
        bugs: list[str] = []  # noqa: RUF012 -- one test

        def states(self) -> dict[str, str]:
            return {"1": "RUNNING"}

    clients = Nobody()
    ground = Ground(PLANS["files"], Nodes(tmp_path, tmp_path), [], tmp_path)
    nemesis = Nemesis(ground, cast(Any, clients), random.Random(1), {}, [of("one"), of("two")])
    for _ in range(8):
        nemesis.strike()
    nemesis.rest()
    assert clients.bugs == []
    assert nemesis.counts.total() == 8
