"""``python -m tests.connectors.broken.page > docs/evidence/broken-connectors.md``"""

import inspect

from tests.connectors.broken.given import ENDLESS, SINKS, SOURCES, TRANSFORMS

HEAD = """\
# Broken connectors that the kit detects

Each of these connectors in `tests/connectors/broken` has a realistic fault. A test requires that the kit fails for
each, in the test of the violated rule, and passes for a correct one. Use the kit when you
[write a connector](../start/write-a-connector.md).

| rule | connector | assumption of its author |
|---|---|---|
"""


def page() -> str:
    kinds = (("source", SOURCES), ("source without an end", ENDLESS), ("sink", SINKS), ("transform", TRANSFORMS))
    rows = (
        f"| {kind}: {rule.replace('_', ' ')} | {broken.__name__} | {thought(broken)} |\n"
        for kind, known in kinds
        for broken, rule in known.items()
    )
    return HEAD + "".join(rows)


def thought(broken: type) -> str:
    return " ".join((inspect.getdoc(broken) or "").split())


if __name__ == "__main__":
    print(page(), end="")
