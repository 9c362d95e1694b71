"""The sink ``Http`` against a service in this process."""

import datetime as dt
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.sink import Guarantee, SinkWriter
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place, stage
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.http.sink import HttpSink
from seatunnel_core.errors import SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.servers.http_service import HttpService, Said, certificate_in, http_service


@pytest.fixture
def service(service: HttpService) -> HttpService:
    service.at["/rows"] = lambda _: ""
    return service


@pytest.fixture
def writers() -> Iterator[list[SinkWriter]]:
    made: list[SinkWriter] = []
    yield made
    for writer in made:
        writer.abort()


def sink_of(service: HttpService, **options: Any) -> HttpSink:
    given = {"url": f"{service.url}/rows", "retry_backoff_multiplier_ms": 1, **options}
    return HttpSink(options_of(HttpSink, given))


def test_each_row_is_a_request_with_an_object(service: HttpService) -> None:
    kinds: list[tuple[str, pa.DataType]] = [
        *(("n", pa.int32()), ("d", pa.decimal128(5, 2)), ("at", pa.timestamp("us")), ("b", pa.binary())),
        *(("list", pa.list_(pa.int8())), ("row", pa.struct([("x", pa.string())])), ("none", pa.string())),
    ]
    schema = TableSchema(table="t", columns=pa.schema(kinds))
    row = {"n": 1, "d": Decimal("1.50"), "at": dt.datetime(2024, 1, 2, 3), "b": b"\x00", "list": [1], "row": {"x": "ü"}}
    rows = pa.RecordBatch.from_pylist([row, {"n": 2}], schema=schema.columns)
    staged = stage(sink_of(service, headers={"X-A": "b"}, params={"p": "q"}), schema, [rows], place())
    assert staged.rows == 2
    first, second = service.asked
    assert (first.method, first.query, first.headers["x-a"]) == ("POST", {"p": "q"}, "b")
    assert first.headers["content-type"] == "application/json"
    assert first.body == (
        '{"n":1,"d":1.50,"at":"2024-01-02T03:00:00","b":"AA==","list":[1],"row":{"x":"ü"},"none":null}'
    )
    assert second.json["n"] == 2


def test_arrays_have_some_rows_each_and_the_rest_is_sent_in_the_end(service: HttpService) -> None:
    sink = sink_of(service, array_mode=True, batch_size=3, request_interval_ms=50)
    begun = time.monotonic()
    staged = stage(sink, SCHEMA, [numbered(0, 2), numbered(2, 5)], place())
    assert staged.rows == 7
    assert [[row["id"] for row in asked.json] for asked in service.asked] == [[0, 1, 2], [3, 4, 5], [6]]
    assert time.monotonic() - begun > 0.1, "it waits between two requests"
    with pytest.raises(UsageError, match="requires array_mode = true"):
        sink_of(service, batch_size=2)


def test_a_refused_row_is_named_with_status_and_answer(service: HttpService, writers: list[SinkWriter]) -> None:
    service.at["/rows"] = lambda asked: (
        Said(status=422, body=f"no id in {asked.headers['x-key']}") if ('"id":2' in asked.body) else ""
    )
    writers.append(begin(sink_of(service, headers={"X-Key": "secret-of-mine"}), SCHEMA, place()))
    with pytest.raises(
        SinkError, match=r"row 3 of the work unit: .*/rows answered 422 .*Response: no id in \*\*\*"
    ) as raised:
        writers[0].write(Batch(table=SCHEMA.table, rows=numbered(0, 5)))
    assert not raised.value.retryable


def test_a_service_that_is_down_for_a_moment_is_sent_everything(service: HttpService) -> None:
    service.answers("/rows", Said(status=503), Said(status=429, headers={"Retry-After": "0"}), "")
    assert stage(sink_of(service), SCHEMA, [numbered(0, 3)], place()).rows == 3
    assert [asked.json["id"] for asked in service.asked] == [0, 0, 0, 1, 2]


def test_an_outage_may_pass(service: HttpService, writers: list[SinkWriter]) -> None:
    service.at["/rows"] = lambda _: Said(status=500, body="oops")
    writers.append(begin(sink_of(service), SCHEMA, place()))
    with pytest.raises(SinkError, match=r"answered 500 .*oops") as raised:
        writers[0].write(Batch(table=SCHEMA.table, rows=numbered(0, 1)))
    assert raised.value.retryable


def test_updates_and_deletes_are_refused(service: HttpService, writers: list[SinkWriter]) -> None:
    writers.append(begin(sink_of(service), SCHEMA, place()))
    with pytest.raises(SinkError, match=r"Http accepts only inserted rows, found DELETE; .*FilterRowKind"):
        writers[0].write(Batch(table=SCHEMA.table, rows=numbered(0, 2), kinds=pa.array([0, 3], pa.int8())))
    assert service.asked == []


def test_host_port_and_certificate_are_tried_before_data_moves(service: HttpService, tmp_path: Path) -> None:
    here = sink_place(place())
    sink_of(service, url=f"{service.url}/nothing/here").prepare(here)  # only a POST would tell
    assert [asked.method for asked in service.asked] == ["HEAD"]
    with pytest.raises(SinkError, match=r"pipeline 1, sink Http: .*connection refused at localhost:1;"):
        sink_of(service, url="http://localhost:1/rows", retry=0).prepare(here)
    file = certificate_in(tmp_path)
    with http_service(file) as secure:
        with pytest.raises(SinkError, match="the certificate of the server is not trusted"):
            sink_of(secure).prepare(here)
        sink_of(secure, tls_ca_file=str(file)).prepare(here)


def test_it_promises_at_least_once(service: HttpService) -> None:
    sink = sink_of(service)
    assert (sink.guarantee, "again" in sink.weakness) == (Guarantee.AT_LEAST_ONCE, True)
    committable = stage(sink, SCHEMA, [numbered(0, 1)], place())
    before = len(service.asked)
    for _ in range(2):
        sink.commit([committable], sink_place(place()), may_be_committed=True)
    assert len(service.asked) == before
