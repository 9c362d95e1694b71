"""``python -m tests.checkpoint.exhaustive``: every world of the large sizes; with ``--short``, of the small ones."""

import argparse
import sys

from tests.checkpoint.exhaustive.explorer import FoundError, explore
from tests.checkpoint.exhaustive.model import Model
from tests.checkpoint.exhaustive.worlds import Bounds

SHORT = (
    Bounds(engines=2, triggers=(2, 1)),
    Bounds(engines=2, retained=1),
    Bounds(engines=2, retained=2),
    Bounds(engines=2, rows=2, triggers=(1, 0), ordered=True),
    Bounds(engines=2, rows=3, triggers=(1, 0), ordered=True, keys="aba"),
    Bounds(engines=1, rows=3, triggers=(1,), ordered=True, keys="a-b", faults=1),
    Bounds(engines=3, triggers=(1, 0)),
    Bounds(engines=2, triggers=(2, 0), rewinds=1),
    Bounds(engines=2, triggers=(1, 0), endless=True),
    Bounds(engines=2, rows=2, triggers=(1, 0), asks=True),
)
"""A few seconds: a part of ``make test``."""

LARGE = (
    *SHORT,
    Bounds(engines=2, triggers=(2, 1), retained=1),
    Bounds(engines=2, triggers=(2, 1), retained=2),
    Bounds(engines=3, triggers=(1, 0), retained=1),
    Bounds(engines=3, triggers=(1, 0), retained=2),
    Bounds(engines=2, rows=2, retained=1),
    Bounds(engines=2, retained=1, faults=1),
    Bounds(engines=2, rows=3, triggers=(1, 0)),
    Bounds(engines=3, rows=2, triggers=(1, 0)),
    Bounds(engines=2, faults=2),
    Bounds(engines=4, triggers=(1, 0)),
    Bounds(engines=2, triggers=(2, 1), rewinds=1),
    Bounds(engines=2, triggers=(2, 1), retained=1, rewinds=1),
    Bounds(engines=2, triggers=(2, 1), retained=2, rewinds=1),
    Bounds(engines=2, triggers=(2, 0), faults=1, rewinds=1),
    Bounds(engines=2, rows=2, triggers=(2, 0), rewinds=1),
    Bounds(engines=2, rows=2, triggers=(1, 0), ordered=True, rewinds=1),
    Bounds(engines=3, triggers=(1, 0), rewinds=2),
    Bounds(engines=3, triggers=(1, 0), retained=1, rewinds=2),
    Bounds(engines=2, triggers=(2, 1), endless=True),
    Bounds(engines=2, rows=2, triggers=(1, 1), retained=1, endless=True),
    Bounds(engines=2, triggers=(2, 0), rewinds=1, endless=True),
    Bounds(engines=3, triggers=(1, 0), endless=True),
    Bounds(engines=2, rows=3, triggers=(1, 0), ordered=True, keys="a-a"),
    Bounds(engines=2, rows=3, triggers=(1, 0), ordered=True, keys="aab", faults=1),
    Bounds(engines=3, rows=2, triggers=(1, 0), ordered=True, keys="ab"),
)
"""Some minutes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.checkpoint.exhaustive", description=__doc__)
    parser.add_argument("--short", action="store_true", help="the bounds of `make test`")
    parser.add_argument("--most", type=int, help="stop after so many states of one size")
    arguments = parser.parse_args()
    for bounds in SHORT if arguments.short else LARGE:
        print(f"{bounds}: ", end="", flush=True)
        try:
            print(explore(Model(bounds), arguments.most), flush=True)
        except FoundError as error:
            print(error)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
