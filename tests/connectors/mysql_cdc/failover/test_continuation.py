"""Where the log of another server continues after the transactions that a job has read."""

import json
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.capture_errors import LogRemovedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation, continuation_of, range_of
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.failover.replica_stub import A, Logs, maria, mysql, numbers, of_a, replica

FILE, NEXT = "bin.000001", "bin.000002"
STATE = ServerState(version="8.0.15", settings={"server_uuid": "here", "gtid_mode": "ON"})
READ = Progress(server="there", log=LogPosition("log.000009", 700), gtids=of_a(*range(1, 6)))


def test_reading_continues_at_the_first_transaction_that_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 4)), NEXT: numbers(*range(4, 9))})
    begins = logs.begins(monkeypatch)
    found = mysql(logs, of_a(*range(1, 9)))
    for last in range(1, 8):
        assert found.located(of_a(*range(1, last + 1))) == begins[f"a:{last + 1}"], last
    assert found.located(of_a(*range(1, 9))) == begins["end"]


def test_transactions_before_the_log_count_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(4, 5, 6)}, before=f"{A}:1-3")
    begins = logs.begins(monkeypatch)
    assert mysql(logs, of_a(*range(1, 7)), f"{A}:1-3").located(of_a(*range(1, 6))) == begins["a:6"]


def test_a_transaction_that_was_not_read_before_others_that_were_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An errant transaction of the replica; it would be emitted after later changes of the same rows, or never."""
    logs = Logs({FILE: [*numbers(1, 2), "a:90", *numbers(3, 4, 5, 6)]})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"another order: up to {FILE}:.* lacks {A}:3-5"):
        mysql(logs, of_a(*range(1, 7), 90)).located(of_a(*range(1, 6)))


def test_a_transaction_without_a_gtid_before_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: [*numbers(1, 2), "", *numbers(3, 4)]})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match="another order"):
        mysql(logs, of_a(1, 2, 3, 4)).located(of_a(1, 2, 3))


def test_a_server_that_lacks_transactions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(1, 2, 3)})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"server_uuid = here\\) lacks .* from the server there: {A}:4-5"):
        mysql(logs, of_a(1, 2, 3)).located(of_a(*range(1, 6)))


def test_a_purged_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(7, 8)}, before=f"{A}:1-6")
    logs.begins(monkeypatch)
    with pytest.raises(LogRemovedError, match=f"does not have the transactions {A}:6 in its log"):
        mysql(logs, of_a(*range(1, 9)), f"{A}:1-6").located(of_a(*range(1, 6)))


def test_transactions_that_were_never_logged_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data was imported on the replica, and its GTIDs were added to the purged ones."""
    logs = Logs({FILE: numbers(1, 2, 3)})
    logs.begins(monkeypatch)
    with pytest.raises(LogRemovedError, match=f"does not have the transactions {A}:90 in its log"):
        mysql(logs, of_a(1, 2, 3, 90), f"{A}:90").located(of_a(1, 2))


def test_domains_of_mariadb_are_compared_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-4", "1-1-1", "0-1-5"], NEXT: ["0-2-6", "1-2-2"]}, before="0-1-3")
    begins = logs.begins(monkeypatch)
    found = maria(logs, "0-2-6,1-2-2")
    assert found.located("0-1-4,1-1-1") == begins["0-1-5"]
    assert found.located("0-1-5,1-1-1") == begins["0-2-6"]
    assert found.located("0-2-6,1-1-1") == begins["1-2-2"]
    assert found.located("0-2-6,1-2-2") == begins["end"]
    with pytest.raises(SourceChangedError, match="ends with 0-1-4 instead of 0-1-5"):
        found.located("0-1-5")  # the transaction of the other domain lies before


def test_other_transactions_with_the_same_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-1", "0-2-2", "0-2-3"]}, before="0-1-0")
    logs.begins(monkeypatch)
    found = maria(logs, "0-2-3")
    with pytest.raises(
        SourceChangedError, match=r"server_id = 2.* other transactions, .* ends with 0-2-2 instead of 0-1-2"
    ):
        found.located("0-1-2")
    with pytest.raises(SourceChangedError, match="gtid_strict_mode = ON"):
        maria(logs, "0-2-3", strict="0").located("0-1-1")
    with pytest.raises(SourceChangedError, match=r"lacks .* 0-1-4"):
        found.located("0-1-4")


@pytest.mark.parametrize(
    ("state", "progress", "message"),
    [
        ({"gtid_mode": "OFF"}, {}, "this server has no GTIDs"),
        ({}, {"start": ChunkStart(table=1)}, "its tables were being copied"),
        ({}, {"reading": READ.log}, "its tables were being copied"),
        ({}, {"gtids": None}, "the GTIDs of the transactions that it has read are unknown"),
        ({}, {"gtids": ""}, "it has read no transaction"),
        ({}, {"gtids": "0-1-5"}, "MySQL and MariaDB have different GTIDs"),
        ({}, {"stopped": "ALTER"}, "a change of columns"),
        ({}, {"defined": LogPosition("log.000009", 701)}, "a change of columns"),
        ({}, {"rereads": (Reread(table="shop.a", next=1, unread=(0,)),)}, "reading the table shop.a again"),
    ],
)
def test_progress_that_belongs_to_the_former_server_is_refused(
    state: dict[str, str], progress: dict[str, Any], message: str
) -> None:
    here = evolve(STATE, settings={**STATE.settings, **state})
    with pytest.raises(SourceChangedError, match=f"is not the server there .* cannot continue there: .*{message}"):
        continuation_of(replica([]), here, evolve(READ, **progress), has_end=False)


def test_an_end_at_a_position_is_refused() -> None:
    with pytest.raises(SourceChangedError, match=r"the position at which it ends \(stop.mode\)"):
        continuation_of(replica([]), STATE, READ, has_end=True)


def test_the_same_server_is_not_another_one() -> None:
    assert continuation_of(replica([]), STATE, evolve(READ, server="here", gtids=None), has_end=True) is None


def test_positions_of_the_former_server_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 8))})
    begins = logs.begins(monkeypatch)
    former = evolve(
        READ, stop=LogPosition("log.000010", 4), defined=LogPosition("log.000009", 500), rereads=(Reread(table="a"),)
    )
    found = mysql(logs, of_a(*range(1, 8)))
    found.require(former, has_end=False)
    moved = found.continued(former)
    assert moved == evolve(former, server="here", log=begins["a:6"], stop=None, defined=None)
    assert Progress.of(json.loads(json.dumps(moved.cursor()))) == moved
    assert not moved.is_copying


def test_a_range_in_flight_is_read_by_its_gtids(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 8))})
    begins = logs.begins(monkeypatch)
    server = mysql(logs, of_a(*range(1, 8))).server
    object.__setattr__(server, "position", lambda state: begins["end"])
    body = {"from": "log.000009:700", "to": "log.000009:900", "server": "there", "gtids": READ.gtids}
    assert range_of(server, STATE, body) == (begins["a:6"], begins["end"])
    own = (LogPosition("log.000009", 700), LogPosition("log.000009", 900))
    assert range_of(server, STATE, {**body, "server": "here"}) == own
    earlier = {name: value for name, value in body.items() if name not in ("server", "gtids")}
    assert range_of(server, STATE, earlier) == own, "planned by an earlier version, at the server of the cursor"


@pytest.mark.parametrize("body", [{}, {"gtids": ""}, {"gtids": READ.gtids, "window": []}])
def test_a_range_that_only_has_positions_is_never_read_at_another_server(body: dict[str, Any]) -> None:
    planned = {"from": "bin.000001:4", "to": "bin.000001:900", "server": "there", **body}
    with pytest.raises(SourceChangedError, match="is not the server there from which"):
        range_of(replica([]), STATE, planned)


def test_the_server_is_named_when_reading_continues() -> None:
    assert "(server_uuid = here), which has all transactions" in Continuation(replica([]), STATE, "there").moved()
