"""Plays mutants by their numbers: ``python -m tests.checkpoint.hostile 7 8 9``, or ``0-1000``."""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.checkpoint.hostile.play import play
from tests.checkpoint.hostile.victim import Victim


def main(arguments: list[str]) -> None:
    began = time.monotonic()
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        victim = Victim(Path(folder))
        for argument in arguments:
            first, _, last = argument.partition("-")
            for number in range(int(first), int(last or first) + 1):
                ends[play(victim, number)] += 1
    for end, count in sorted(ends.items()):
        print(f"{count:9,}  {end}")
    print(f"{sum(ends.values()):9,}  mutants in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
