"""Resources and sources of dlt as people write them, for ``test_dlt_page.py``, which runs them beside dlt itself."""

import datetime as dt
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
import pandas as pd
import pyarrow as pa

Item = dict[str, Any]


@dlt.resource
def plain(count: int = 2) -> Iterator[list[Item]]:
    for number in range(count):
        yield [{"id": number, "at": {"x": 1.5}}, {"id": 100 + number, "tags": ["a", "b"]}]


@dlt.resource(name="Orders", table_name="shop_orders", primary_key="id", write_disposition="merge")
def get_orders() -> Iterator[Item]:
    yield {"id": 1}


@dlt.resource(primary_key=("id", "line"))
def keyed() -> Iterator[Any]:
    yield pd.DataFrame({"id": [1, 2], "line": [1, 1]})


@dlt.resource(columns={"price": {"data_type": "text"}})
def typed() -> Iterator[Item]:
    yield {
        "price": Decimal("12.50"),
        "day": dt.date(2024, 2, 29),
        "moment": dt.datetime(2024, 2, 29, 12, 0, 0, 123456, dt.timezone(dt.timedelta(hours=2))),
        "local": dt.datetime(2024, 2, 29, 12),
        "data": b"\x00\xff",
        "large": 2**62 + 1,
        "nothing": None,
        "truth": True,
    }


@dlt.resource
def arrow() -> Iterator[Any]:
    kinds = {
        "amount": (pa.decimal128(12, 3), Decimal("1.500")),
        "day": (pa.date32(), dt.date(2024, 2, 29)),
        "moment": (pa.timestamp("us", "UTC"), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
        "data": (pa.binary(), b"\x00"),
        "by_name": (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    }
    table = pa.table({name: pa.array([value], kind) for name, (kind, value) in kinds.items()})
    yield table
    yield table.to_batches()[0]


@dlt.resource
def doubled() -> Iterator[Any]:
    yield pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])


@dlt.resource
def guarded(api_key: str = dlt.secrets.value) -> Iterator[list[Item]]:
    yield [{"id": int(api_key)}]


@dlt.transformer(data_from=guarded)
def details(items: Iterable[Item], api_key: str = dlt.config.value) -> Iterator[list[Item]]:
    yield [{"id": item["id"], "key": api_key} for item in items]


@dlt.resource(parallelized=True)
def parallel() -> Iterator[Item]:
    for number in range(3):
        yield {"id": number}


@dlt.resource
def deferred() -> Iterator[Any]:
    @dlt.defer
    def page(number: int) -> list[Item]:
        return [{"id": number}]

    for number in range(3):
        yield page(number)


@dlt.resource
async def asynchronous() -> AsyncIterator[Item]:
    for number in range(3):
        yield {"id": number}


@dlt.resource
def optional(cursor: dlt.sources.incremental[int] | None = None) -> Iterator[Item]:
    assert cursor is None or cursor.last_value is None
    yield {"id": 1}


@dlt.source
def shop(count: int = 1) -> tuple[Any, ...]:
    return plain(count), keyed


@dlt.source
def made_each_time() -> Iterator[Any]:
    yield dlt.resource(({"id": number} for number in range(2)), name="numbers")


ready = dlt.resource([{"id": 1}, {"id": 2}], name="ready")


# -- what would not be right ---------------------------------------------------------------------------------------


@dlt.resource(primary_key="id", table_name=lambda item: item["kind"])
def dynamic() -> Iterator[Item]:
    yield {"id": 1, "kind": "a"}


@dlt.resource
def marked() -> Iterator[Any]:
    yield dlt.mark.with_table_name({"id": 1}, "elsewhere")


@dlt.resource
def incremental(at: Any = dlt.sources.incremental("id", initial_value=0)) -> Iterator[list[Item]]:  # noqa: B008
    yield [{"id": 1}]


@dlt.transformer(data_from=incremental)
def after_incremental(items: Iterable[Item]) -> Iterator[Any]:
    yield items


@dlt.resource
def remembers() -> Iterator[Item]:
    state = dlt.current.resource_state()
    yield {"id": state.get("last", 0) + 1}
    state["last"] = 1


@dlt.source
def bound_cursor() -> Any:
    return optional(dlt.sources.incremental("id"))


@dlt.resource
def needs(url: str) -> Iterator[Item]:
    yield {"url": url}


@dlt.transformer
def alone(items: Any) -> Iterator[Any]:
    yield items


@dlt.resource
def broken() -> Iterator[Item]:
    yield {"id": 1}
    raise ConnectionError("mine")


@dlt.resource
def texts() -> Iterator[str]:
    yield "no row"


@dlt.resource
def identified() -> Iterator[Item]:
    yield {"id": uuid.UUID(int=1)}


@dlt.resource(primary_key="Id")
def miskeyed() -> Iterator[Item]:
    yield {"id": 1}


@dlt.resource
def secret(api_key: str = dlt.secrets.value) -> Iterator[Item]:
    yield {"key": api_key}


running = dlt.resource(iter([{"id": 1}]), name="running")


def no_resource() -> int:
    return 5


@dlt.source
def begun() -> Any:
    return _begun


def _numbers() -> Iterator[Item]:
    yield {"id": 1}
    yield {"id": 2}


_generator = _numbers()
next(_generator)
_begun = dlt.resource(_generator, name="begun")


@dlt.resource(primary_key="id")
def slow(path: str) -> Iterator[Item]:
    """Wait in the middle, if nobody has read it before."""
    before = Path(path).exists()
    for number in range(2000):
        if number == 1500 and not before:
            Path(path).touch()
            time.sleep(600)
        yield {"id": number}
