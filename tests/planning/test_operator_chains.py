"""Which sources a query reads together, what they emit then, and what is refused. Spark has no word here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.planning.operator_chains import chains_of, emitted_splits
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.planning.settings import topology_of
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.pipeline_io import _refuse_new, require_same_splits
from seatunnel_core.spark.operator_chain import FramePlan, OperatorChain
from seatunnel_core.work.split import Split

ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
SCHEMA = TableSchema(table="t", columns=pa.schema([("id", pa.int64())]))


def pipeline(transforms: str, sinks: Mapping[str, str], *sources: str, mode: str = "BATCH") -> PlannedPipeline:
    """Each source gives one column. ``sinks`` are the names of their inputs, by their own."""
    fakes = "".join(
        f"FakeSource {{ plugin_output = {name}, schema {{ fields {{ id = bigint }} }} }}\n" for name in sources
    )
    out = "".join(
        f"LocalFile {{ name = {name}, plugin_input = [{of}], path = /out/{name} }}\n" for name, of in sinks.items()
    )
    text = f"env {{ job.mode = {mode} }}\nsource {{ {fakes} }}\ntransform {{ {transforms} }}\nsink {{ {out} }}"
    problems = Problems()
    raw = read_job(parse(text, "job.conf", Variables({}, {}), problems), "job.conf", problems)
    (planned,) = plan_job(raw, lookup, ENGINE).pipelines
    return planned


def sql(name: str, inputs: str, query: str = "SELECT 1", more: str = "") -> str:
    return f'SparkSql {{ plugin_input = [{inputs}], plugin_output = {name}, query = "{query}", {more} }}\n'


def enumerations(**splits: int) -> dict[str, Enumeration]:
    return {
        name: Enumeration(
            schemas=(SCHEMA,),
            splits=tuple(Split(index=n, weight_bytes=10, rows=2, body={"of": name, "n": n}) for n in range(count)),
        )
        for name, count in splits.items()
    }


def frame_plan(transform: Any, arriving: Mapping[str, TableSchema]) -> FramePlan:
    """Grouping is what looks across rows here."""
    grouped = "GROUP" in transform.options["query"] and transform.scope != "unit"
    return FramePlan(schema=next(iter(arriving.values())), across="GROUP BY" if grouped else "")


def made(planned: PlannedPipeline, **splits: int) -> tuple[tuple[OperatorChain, ...], dict[str, tuple[Split, ...]]]:
    found = enumerations(**splits)
    chains = chains_of(planned, found, job_id="job", frame_plan=frame_plan)
    return chains, emitted_splits(chains, found)


def test_what_works_row_by_row_emits_its_splits() -> None:
    (chain,), emitted = made(pipeline(sql("x", "a"), {"s": "x"}, "a"), a=3)
    assert chain.splits is None
    assert len(emitted["a"]) == 3


def test_a_query_emits_one_split_for_all() -> None:
    (chain,), emitted = made(pipeline(sql("x", "a", "GROUP"), {"s": "x"}, "a"), a=3)
    assert chain.splits is not None
    assert len(chain.splits["a"]) == 3
    (split,) = emitted["a"]
    assert (split.index, split.weight_bytes, split.rows, split.body) == (0, 30, 6, {"query_over": {"a": 3}})


@pytest.mark.parametrize("splits", [0, 1])
def test_a_query_runs_over_one_split_and_over_none(splits: int) -> None:
    """A sum over nothing is a row; and a single split is the same with a query and without."""
    _, emitted = made(pipeline(sql("x", "a", "GROUP"), {"s": "x"}, "a"), a=splits)
    (split,) = emitted["a"]
    assert split.body == ({"of": "a", "n": 0} if splits else {"query_over": {"a": 0}})


def test_sources_that_are_joined_are_one_chain_of_the_first() -> None:
    """Also where they come together before the query, or in the first of two; a third one goes its own way."""
    joined = pipeline(sql("x", "b, a"), {"s": "x", "t": "c, x"}, "a", "b", "c")
    together = pipeline(
        "Filter { plugin_input = [a, b], plugin_output = f, include_fields = [id] }\n" + sql("x", "f", "GROUP"),
        {"s": "x, c"},
        "a",
        "b",
        "c",
    )
    for planned in (joined, together):
        chains, emitted = made(planned, a=2, b=3, c=4)
        assert sorted((p.source_name, tuple(p.splits or ())) for p in chains) == [("a", ("a", "b")), ("c", ())]
        assert {name: len(splits) for name, splits in emitted.items()} == {"a": 1, "b": 0, "c": 4}
        assert emitted["a"][0].body == {"query_over": {"a": 2, "b": 3}}


def test_sources_that_come_together_row_by_row_stay_apart() -> None:
    planned = pipeline(
        "Filter { plugin_input = [a, b], plugin_output = f, include_fields = [id] }\n" + sql("x", "f"),
        {"s": "x"},
        "a",
        "b",
    )
    chains, emitted = made(planned, a=2, b=3)
    assert [chain.splits for chain in chains] == [None, None]
    assert (len(emitted["a"]), len(emitted["b"])) == (2, 3)


def test_the_unit_of_a_query_feeds_the_sinks_of_all_its_sources() -> None:
    planned = pipeline(sql("x", "a, b"), {"s": "x", "of_b": "b", "of_c": "c, x"}, "a", "b", "c")
    fed = {source.name: sorted(source.sinks) for source in topology_of(planned).sources}
    assert fed == {"a": ["of_b", "of_c", "s"], "b": ["of_b", "of_c", "s"], "c": ["of_c"]}


@pytest.mark.parametrize("query", ["SELECT 1", "GROUP"])
def test_several_sources_cannot_be_distinguished_by_unit(query: str) -> None:
    with pytest.raises(
        TransformError, match="reads the rows of several sources, but scope = unit provides only the rows of one source"
    ):
        made(pipeline(sql("x", "a, b", query, "scope = unit"), {"s": "x"}, "a", "b"), a=1, b=1)


@pytest.mark.parametrize(
    ("transform", "clause"), [(sql("x", "a", "GROUP"), "GROUP BY"), (sql("x", "a, b"), "several inputs")]
)
def test_streaming_refuses_it_with_the_clause(transform: str, clause: str) -> None:
    sources = ("a", "b") if "b" in transform else ("a",)
    planned = pipeline(transform, {"s": "x"}, *sources, mode="STREAMING")
    with pytest.raises(TransformError, match=rf"'x' combines rows \({clause}\), but a streaming job has no last row"):
        made(planned, a=2, b=2)


def test_what_began_with_other_splits_is_refused() -> None:
    one = enumerations(a=1)["a"].splits
    require_same_splits("a", None, one)
    require_same_splits("a", 1, one)
    refused = r"source 'a' started with 7 splits and would continue with 1, because .* start a new job"
    with pytest.raises(UsageError, match=refused):
        require_same_splits("a", 7, one)


def test_a_source_does_not_join_a_query_that_has_begun() -> None:
    """The query's only split may have been read, and the new source would never be."""
    (chain,), _ = made(pipeline(sql("x", "a, b"), {"s": "x"}, "a", "b"), a=2, b=2)
    _refuse_new(chain, frozenset())
    _refuse_new(chain, frozenset({"a", "b"}))
    with pytest.raises(UsageError, match="the query over a, b started without b"):
        _refuse_new(chain, frozenset({"a"}))
