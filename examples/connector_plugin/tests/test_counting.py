"""The connector kit on the source ``Counting``."""

from seatunnel_counting import CountingSource

from seatunnel_core.connectors.testing import SourceConformance


class TestCounting(SourceConformance):
    source_class = CountingSource

    def options(self) -> dict[str, int]:
        return {"count": 2500, "per_split": 1000}

    def expected(self) -> list[dict[str, int]]:
        return [{"number": number} for number in range(1, 2501)]
