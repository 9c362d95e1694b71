"""``python -m tests.connectors.broken.page > docs/evidence/broken-connectors.md``"""

import inspect

from tests.connectors.broken.given import ENDLESS, SINKS, SOURCES, TRANSFORMS

HEAD = """\
# Connectors that break a rule, and are found

Each of these is a few lines in `tests/connectors/broken`, and wrong as real connectors are wrong. The kit has to fail
on each, in the test of the rule that it breaks, and to pass on the honest one beside them: a test. If you
[write a connector](../start/write-a-connector.md), this is what the kit keeps you from.

| rule | connector | what its author thought |
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
