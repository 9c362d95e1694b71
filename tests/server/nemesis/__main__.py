"""``python -m tests.server.nemesis --minutes 20 --seed 7``: break a real cluster, and see whether every job holds.

Batches are kept in the state file, so that the next one plays what was played least. Ends with 1 when anything was
wrong; the folder of such a batch stays, with the logs of all nodes, the clients' history and the sinks.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.server.nemesis.campaign import play_batch
from tests.server.nemesis.ground import PLANS
from tests.server.nemesis.page import PAGE, page
from tests.server.nemesis.totals import STATE, add_batch, played, read_batches, summary

MOST_MINUTES = 20.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.nemesis", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MOST_MINUTES, help="how long one batch takes, at most 20")
    parser.add_argument("--seed", type=int, default=None, help="another seed draws other faults, moments and jobs")
    parser.add_argument("--plan", choices=PLANS, help="which cluster; otherwise the seed draws one")
    parser.add_argument("--only", default="", help="play kinds of faults alone whose name has this text")
    parser.add_argument("--state", type=Path, default=STATE, help="the file that keeps what was played")
    arguments = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started and mounted is cleared away
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    plan = arguments.plan or random.Random(seed).choice(list(PLANS))
    folder = Path(tempfile.mkdtemp(prefix="nemesis-", dir="/tmp"))
    folder.chmod(0o711)  # for servers that run as users of their own
    print(f"a batch of {arguments.minutes:g} minutes on {plan} with seed {seed} in {folder}", flush=True)
    before = played(read_batches(arguments.state))
    minutes = min(arguments.minutes, MOST_MINUTES)
    batch, verdict = play_batch(folder / "batch", plan, seed, minutes, before, arguments.only)
    add_batch(arguments.state, batch)
    if arguments.state == STATE:
        PAGE.write_text(page(read_batches(STATE)), "utf-8")
    print("\n".join(summary([batch])))
    for reason in verdict.reasons:
        print(f"failed: {reason}")
    for problem in verdict.problems:
        print(f"WRONG: {problem}")
    if not verdict.problems:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(("all batches so far:", *summary(read_batches(arguments.state)))))
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())
