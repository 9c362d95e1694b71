"""A server that answers statements as the test says."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.mysql_cdc.server import Server
from tests.connectors.mysql_cdc.tables import DIALECT


class AnsweringServer(Server):
    """Each statement has the answer of the longest key with which it begins. Others are denied."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        super().__init__(dialect=DIALECT)
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "asked", [])

    def ask(self, statement: str) -> Sequence[Sequence[Any]]:
        self.asked.append(statement)  # type: ignore[attr-defined]
        answers: Mapping[str, Sequence[Sequence[Any]]] = self.answers  # type: ignore[attr-defined]
        found = [key for key in answers if statement.startswith(key)]
        if not found:
            raise SourceError(f"denied: {statement}")
        return answers[max(found, key=len)]
