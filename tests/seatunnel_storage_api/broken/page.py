"""``python -m tests.seatunnel_storage_api.broken.page > docs/evidence/broken-storages.md``"""

import inspect

from seatunnel_storage_api.testing.promises import PROMISES, short_name
from tests.seatunnel_storage_api.broken import naming, reading, writing
from tests.seatunnel_storage_api.broken.given import BROKEN

HEAD = """\
# Broken storages that the kit detects

Each of these storages in `tests/seatunnel_storage_api/broken` has a realistic fault. A test requires that the kit fails
for each, in a test of the broken promise, and passes for a correct one. The kit protects you from the same faults when
you [write a storage](../start/write-a-storage.md).

| promise | storage | assumption of its author |
|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(
        f"| {number}. {short_name(number)} | {name} | {thought} |\n" for number, name, thought in rows()
    )


def rows() -> list[tuple[int, str, str]]:
    """By promise, then as the code has them."""
    kinds = {name: kind for module in (writing, reading, naming) for name, kind in vars(module).items()}
    thoughts = {name: " ".join((inspect.getdoc(kinds[name]) or "").split()).replace("``", "`") for name in BROKEN}
    return [(number, name, thoughts[name]) for number in PROMISES for name, (own, _) in BROKEN.items() if own == number]


if __name__ == "__main__":
    print(page(), end="")
