"""Settings of a server because of which its log lacks changes."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerReplacedError, ServerState
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import DIALECT

SETTINGS = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "log_slave_updates": "OFF"}
ANSWERS: Mapping[str, Sequence[Sequence[Any]]] = {
    "SHOW GLOBAL VARIABLES": list(SETTINGS.items()),
    "SELECT VERSION()": [("5.7.22",)],
    "SHOW GRANTS": [("GRANT ALL PRIVILEGES ON *.* TO 'u'@'%'",)],
    "SHOW SLAVE STATUS": [],
}
MARIA = {"SELECT VERSION()": [("10.11.6-MariaDB",)]}
OTHER_STATUS = "SHOW STATUS LIKE 'Slave%_running'"


@pytest.mark.parametrize(
    "more",
    [
        {"SHOW SLAVE STATUS": [("Waiting for master",)]},
        {**MARIA, "SHOW ALL SLAVES STATUS": [("a",)]},
        {**MARIA, OTHER_STATUS: [("Slave_running", "OFF"), ("Slaves_running", "1")]},
    ],
)
def test_a_replica_that_does_not_log_what_it_receives_is_refused(more: Any) -> None:
    with pytest.raises(SourceError, match=r"it is a replica that does not log .* set log_slave_updates"):
        AnsweringServer({**ANSWERS, **more}).require_capturable()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {**MARIA, OTHER_STATUS: [("Slave_running", "OFF"), ("Slaves_running", "0")]},
        {
            "SHOW GLOBAL VARIABLES": [*SETTINGS.items(), ("log_slave_updates", "ON")],
            "SHOW SLAVE STATUS": [("Waiting for master",)],
        },
    ],
)
def test_other_servers_are_accepted(more: Any) -> None:
    AnsweringServer({**ANSWERS, **more}).require_capturable()


def test_a_database_that_is_not_logged_is_refused() -> None:
    state = ServerState(version="8.4.1", settings={})

    def require(only: str, ignored: str) -> None:
        answer = [("bin.000001", 4, only, ignored, "")]
        AnsweringServer({"SHOW BINARY LOG STATUS": answer}).require_logged(state, {"shop", "people"})

    require("", "")
    require("", "other")
    require("people,Shop", "")
    with pytest.raises(SourceError, match=r"not log changes of the database shop: .* binlog-do-db = people,other;"):
        require("people,other", "")
    with pytest.raises(SourceError, match=r"not log changes of the database people: .* binlog-ignore-db = people;"):
        require("", "people")
    assert state.replica == "REPLICA"


class Connection:
    """A connection, which is queried through a function."""


def test_a_connection_is_asked_once_to_which_server_it_leads() -> None:
    asked: list[str] = []

    def ask(statement: str) -> Sequence[Sequence[Any]]:
        asked.append(statement)
        return [(b"here",)]

    connection = Connection()
    Server(dialect=DIALECT).require_known(connection, ask)
    assert asked == [], "no server is known yet"
    here = Server(dialect=DIALECT, known=ServerState(version="8.0.15", settings={"server_uuid": "here"}))
    for _ in range(3):
        here.require_known(connection, ask)
    assert asked == ["SELECT @@global.server_uuid"]
    there = Server(dialect=DIALECT, known=ServerState(version="8.0.15", settings={"server_uuid": "there"}))
    with pytest.raises(ServerReplacedError, match="server_uuid = here instead of there") as raised:
        there.require_known(connection, ask)
    assert raised.value.retryable
    assert raised.value.needs_restart, "tasks have the former server until then"
    assert len(asked) == 1
    maria = ServerState(version="10.11.6-MariaDB", settings={"server_uuid": "u", "server_id": "7"})
    assert (maria.identity_variable, maria.identity) == ("server_id", "7")
