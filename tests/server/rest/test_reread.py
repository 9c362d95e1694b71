"""A captured table of a job in a cluster is read again: the node whose host has the job is asked, through any node."""

from pathlib import Path

import pytest

from tests.cdc.captured import COPY, CapturedPostgres
from tests.server.nodes import some_nodes, until
from tests.server.rest.test_savepoint import STREAM

NAME = "cdc_reread"


@pytest.mark.spark
@pytest.mark.servers
@pytest.mark.torture
@pytest.mark.timeout(400)
def test_a_table_is_read_again_through_any_node(tmp_path: Path) -> None:
    captured = CapturedPostgres()
    captured.release(NAME)
    captured.recreate(NAME)
    captured.recreate(COPY)
    captured.run(NAME, "CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders SELECT generate_series(1, 50)")
    source, sink = captured.source_block(NAME, ["orders"], NAME, ""), captured.sink_block(COPY)
    copy = f"env {{ job.mode = STREAMING, checkpoint.interval = 500 }}\nsource {{{source}\n}}\nsink {{{sink}\n}}\n"
    table = f"{NAME}.public.orders"

    def rows() -> int:
        return int(captured.run(COPY, "SELECT count(*) FROM orders")[0][0])

    with some_nodes(tmp_path) as (node,):
        node.start()
        node.wait_ready()
        assert node.ask("POST", "/reread-table", {"jobId": "1", "table": table})[1]["code"] == "not_running"
        node.submit(STREAM, "1")
        node.wait_rows("1")
        status, refused = node.ask("POST", "/reread-table", {"jobId": "1", "table": table})
        assert (status, "no source of the job can read a table again" in refused["message"]) == (400, True), refused
        node.ask("POST", "/stop-job", {"jobId": "1"})
        assert until("it ends", lambda: node.job("1").get("finishTime"))
        node.submit(copy, "2")
        node.wait_rows("2")
        assert until("the copy is complete", lambda: rows() == 50)
        status, refused = node.ask("POST", "/reread-table", {"jobId": "2", "table": "orders"})
        assert (status, f"they capture {table}" in refused["message"]) == (400, True), refused
        assert node.ask("POST", "/reread-table", {"jobId": "2"})[0] == 400
        captured.run(COPY, "DELETE FROM orders WHERE id > 7")
        assert node.ask("POST", "/reread-table", {"jobId": "2", "table": table}) == (
            200,
            {"jobId": "2", "table": table},
        )
        assert until("the table was read again", lambda: rows() == 50)
        node.ask("POST", "/stop-job", {"jobId": "2"})
        assert until("it ends", lambda: node.job("2").get("finishTime"))
    captured.release(NAME)
