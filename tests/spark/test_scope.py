"""Which plans work row by row, and what looks across rows: what is let through wrongly gives a group once per unit."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.operator_chain import FramePlan
from seatunnel_core.transforms.dataframe import DataFrameFunction
from seatunnel_core.transforms.spark_sql import SparkSql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TableSchema(
    table="t",
    columns=pa.schema(
        [
            ("id", pa.int64()),
            ("k", pa.string()),
            ("v", pa.float64()),
            ("tags", pa.list_(pa.string())),
            ("at", pa.timestamp("us", tz="UTC")),
        ]
    ),
)

ROW_BY_ROW = """
SELECT id, upper(k) AS k FROM t WHERE v > 1
SELECT * FROM t a WHERE a.k IN ('x', 'y') AND a.id BETWEEN 3 AND 7
SELECT id FROM t UNION ALL SELECT id + 1 FROM t
SELECT id, explode(tags) AS tag FROM t
SELECT id, tag, n FROM t LATERAL VIEW OUTER posexplode(tags) e AS n, tag
SELECT id, s.c FROM t, LATERAL (SELECT t.id + 1 AS c) s
SELECT id, aggregate(tags, '', (a, x) -> a || x) AS all_tags, array_sort(tags) AS sorted FROM t
SELECT id, array_distinct(tags) AS tags, array_max(tags) AS last, size(tags) AS count FROM t
SELECT * FROM t UNPIVOT (value FOR name IN (id, v))
SELECT id, stack(2, 1L, id) AS x FROM t
WITH x AS (SELECT id, v FROM t WHERE v > 1) SELECT id FROM x
WITH x AS (SELECT id FROM t), y AS (SELECT id FROM x) SELECT id FROM x UNION ALL SELECT id FROM y
SELECT id, uuid() AS u, rand() AS r, randn() AS n, current_timestamp() AS now, current_date() AS today FROM t
SELECT id, raise_error('no') AS e FROM t WHERE k IS NULL
SELECT id, CASE WHEN v > 1 THEN (SELECT 'big') ELSE 'small' END AS size FROM t
SELECT t.id, r.id AS other FROM t LEFT JOIN range(3) r ON r.id = t.id
SELECT t.id FROM range(3) r RIGHT JOIN t ON r.id = t.id
SELECT t.id FROM t JOIN (SELECT id, count(*) AS c FROM range(9) GROUP BY id) r ON r.id = t.id
SELECT id FROM t WHERE id IN (SELECT id FROM range(3))
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM range(3) r WHERE r.id = t.id)
SELECT id FROM t WHERE v > (SELECT avg(id) FROM range(4))
SELECT /*+ REPARTITION(3) */ * FROM t
SELECT * FROM t DISTRIBUTE BY k
SELECT /*+ BROADCAST(r) */ t.id FROM t JOIN range(3) r ON r.id = t.id
SELECT id, date_trunc('day', at) AS day, to_json(struct(id, k)) AS j FROM t
SELECT id, aes_encrypt(k, 'abcdefghijklmnop') AS secret FROM t
FROM t |> WHERE v > 1 |> SELECT id
"""

ACROSS = """
GROUP BY or an aggregate function: SELECT k, count(*) AS n FROM t GROUP BY k
GROUP BY or an aggregate function: SELECT count(*) AS n FROM t
GROUP BY or an aggregate function: SELECT max(v) AS v FROM t WHERE v > 1
GROUP BY or an aggregate function: SELECT first(v) AS v FROM t
GROUP BY or an aggregate function: SELECT k FROM t GROUP BY ALL
GROUP BY or an aggregate function: SELECT k, v, sum(id) AS s FROM t GROUP BY CUBE (k, v)
GROUP BY or an aggregate function: SELECT k, explode(collect_list(id)) AS x FROM t GROUP BY k
GROUP BY or an aggregate function: SELECT * FROM (SELECT id, k, v FROM t) PIVOT (sum(v) FOR k IN ('a', 'b'))
GROUP BY or an aggregate function: SELECT k FROM t GROUP BY k HAVING count(*) > 1
GROUP BY or an aggregate function: FROM t |> AGGREGATE count(*) AS n GROUP BY k
GROUP BY or an aggregate function: WITH x AS (SELECT max(v) AS m FROM t) SELECT m FROM x
GROUP BY or an aggregate function: SELECT id FROM t UNION ALL SELECT max(id) FROM t
GROUP BY or an aggregate function: SELECT m, r.id FROM (SELECT max(v) AS m FROM t), range(3) r
DISTINCT: SELECT DISTINCT k FROM t
DISTINCT: SELECT id FROM t UNION SELECT id + 1 FROM t
a window function (OVER): SELECT id, sum(v) OVER (PARTITION BY k) AS s FROM t
a window function (OVER): SELECT id, row_number() OVER (ORDER BY id) AS n FROM t
a window function (OVER): SELECT id, lag(v) OVER (PARTITION BY k ORDER BY id) AS before FROM t
a window function (OVER): SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) = 1
ORDER BY: SELECT * FROM t ORDER BY id
SORT BY: SELECT * FROM t SORT BY id
SORT BY: SELECT * FROM t CLUSTER BY id
LIMIT: SELECT * FROM t LIMIT 3
LIMIT: SELECT id FROM (SELECT id FROM t LIMIT 3)
OFFSET: SELECT * FROM t OFFSET 2
a sample: SELECT * FROM t TABLESAMPLE (10 PERCENT)
a sample: SELECT * FROM t TABLESAMPLE (BUCKET 1 OUT OF 4)
JOIN: SELECT a.id FROM t a JOIN t b ON a.id = b.id
JOIN: SELECT a.id FROM t a LEFT ANTI JOIN t b ON a.id = b.id + 1
JOIN: WITH x AS (SELECT * FROM t) SELECT a.id FROM x a CROSS JOIN x b
RIGHT OUTER JOIN: SELECT r.id FROM t RIGHT JOIN range(3) r ON r.id = t.id
LEFT OUTER JOIN: SELECT r.id FROM range(3) r LEFT JOIN t ON r.id = t.id
FULL OUTER JOIN: SELECT r.id FROM range(3) r FULL JOIN t ON r.id = t.id
LEFT SEMI JOIN: SELECT r.id FROM range(3) r LEFT SEMI JOIN t ON r.id = t.id
INTERSECT: SELECT id FROM t INTERSECT SELECT id FROM range(3)
EXCEPT: SELECT id FROM t EXCEPT SELECT id FROM range(3)
EXCEPT: SELECT id FROM t MINUS ALL SELECT id FROM t
UNION ALL with rows that do not come from the input: SELECT id FROM t UNION ALL SELECT id FROM range(3)
a subquery over the input: SELECT id, (SELECT max(v) FROM t) AS m FROM t
a subquery over the input: SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE v > 3)
a subquery over the input: SELECT id FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.id = a.id + 1)
a subquery over the input: SELECT (SELECT max(v) FROM t) AS m
a subquery over the input: SELECT id FROM range(3) WHERE id IN (SELECT id FROM t)
a subquery over the input: SELECT a.id, s.c FROM t a, LATERAL (SELECT b.id AS c FROM t b WHERE b.k = a.k) s
monotonically_increasing_id(): SELECT id, monotonically_increasing_id() AS row_id FROM t
spark_partition_id(): SELECT id FROM t WHERE spark_partition_id() = 0
rand(): SELECT id, rand(7) AS r FROM t
randn(): SELECT id, randn(7) AS r FROM t
TRANSFORM … USING: SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t
WITH RECURSIVE: WITH RECURSIVE r(n) AS (SELECT id FROM t UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r
a result that is not derived from the input's rows: SELECT 1 AS x
a result that is not derived from the input's rows: SELECT id FROM range(3)
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def sql(backend: SparkBackend, query: str, **views: TableSchema) -> FramePlan:
    return backend.frame_plan(SparkSql(options_of(SparkSql, {"query": query})), views or {"t": T})


def frame(backend: SparkBackend, function: Callable[..., Any], scope: str = "auto", **views: TableSchema) -> FramePlan:
    options = options_of(DataFrameFunction, {"function": function, "scope": scope})
    return backend.frame_plan(DataFrameFunction(options), views or {"t": T})


def test_queries_that_work_row_by_row(backend: SparkBackend) -> None:
    judged = {query: sql(backend, query).across for query in lines(ROW_BY_ROW)}
    assert {query: clause for query, clause in judged.items() if clause} == {}


def test_queries_that_look_across_rows_are_recognised_by_their_clause(backend: SparkBackend) -> None:
    wrong = []
    for line in lines(ACROSS):
        clause, _, query = line.partition(": ")
        across = sql(backend, query).across
        wrong += [f"{query}: {across!r}"] if clause not in across.split(" and ") else []
    assert wrong == []


def python_udf(kind: str) -> Callable[["DataFrame"], "DataFrame"]:
    def apply(given: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions

        made = {"plain": functions.udf, "pandas": functions.pandas_udf}[kind](lambda value: value, "double")
        return given.withColumn("v", made("v"))

    return apply


def functions_over_frames() -> dict[str, tuple[Callable[[Any], Any], str]]:
    """By name: the function, and what a message says it looks at across rows; empty for one that does not."""
    from pyspark.sql import functions as f

    batches = "a Python function that processes batches (pandas, Arrow)"
    return {
        "columns": (lambda t: t.withColumn("w", f.col("v") * 2).drop("tags").na.drop().dropna(), ""),
        "renamed": (lambda t: t.toDF("a", "b", "c", "d", "e").fillna(0), ""),
        "plain Python": (python_udf("plain"), ""),
        "spread": (lambda t: t.repartition(7).coalesce(2), ""),
        "cached": (lambda t: t.cache(), ""),
        "with itself": (lambda t: t.unionByName(t), ""),
        "looked up": (lambda t: t.join(t.sparkSession.createDataFrame([(1, "one")], "id long, word string"), "id"), ""),
        "pandas": (python_udf("pandas"), batches),
        "mapInPandas": (lambda t: t.mapInPandas(lambda batches: batches, t.schema), batches),
        "mapInArrow": (lambda t: t.mapInArrow(lambda batches: batches, t.schema), batches),
        "applyInPandas": (lambda t: t.groupBy("k").applyInPandas(lambda group: group, t.schema), batches),
        "cogroup": (
            lambda t: t.groupBy("k").cogroup(t.groupBy("k")).applyInPandas(lambda one, _: one, t.schema),
            batches,
        ),
        "dropDuplicates": (lambda t: t.dropDuplicates(["k"]), "dropDuplicates"),
        "agg": (lambda t: t.agg(f.count("*").alias("n")), "GROUP BY or an aggregate function"),
        "describe": (lambda t: t.select("v").describe(), "GROUP BY or an aggregate function"),
        "limit": (lambda t: t.limit(2), "LIMIT"),
        "sample": (lambda t: t.sample(0.5), "a sample"),
        "row ids": (lambda t: t.withColumn("n", f.monotonically_increasing_id()), "monotonically_increasing_id()"),
        "sorted": (lambda t: t.sortWithinPartitions("id"), "SORT BY"),
        "observed": (lambda t: t.observe("seen", f.count("*")), "observe"),
        "another frame": (lambda t: t.sparkSession.range(3), "a result that is not derived from the input's rows"),
        "more rows": (lambda t: t.select("id").union(t.sparkSession.range(3)), "UNION ALL with rows that do not"),
        "an RDD": (lambda t: t.rdd.map(tuple).toDF(t.schema), "an RDD of the input"),
        "joined with its RDD": (
            lambda t: t.join(t.rdd.map(lambda row: (row.id,)).toDF("id long"), "id"),
            "an RDD of the input",
        ),
    }


def test_functions_over_frames(backend: SparkBackend) -> None:
    wrong = {}
    for name, (function, clause) in functions_over_frames().items():
        across = frame(backend, function).across
        if (clause not in across) if clause else across:
            wrong[name] = across
    assert wrong == {}


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.where(t.v > t.agg({"v": "avg"}).collect()[0][0]),
        lambda t: t if t.count() else t.limit(0),
        lambda t: t.sparkSession.createDataFrame(t.toPandas(), t.schema),
        lambda t: t.localCheckpoint(),
    ],
)
def test_a_function_that_asks_for_rows_says_its_scope(backend: SparkBackend, function: Any) -> None:
    with pytest.raises(TransformError, match=r"calls a Spark action .* scope = all .* or scope = unit"):
        frame(backend, function)


def test_the_scope_that_a_job_says_is_believed(backend: SparkBackend) -> None:
    def above_average(t: Any) -> Any:
        return t.where(t.v > (t.agg({"v": "avg"}).collect()[0][0] or 0))

    assert frame(backend, above_average, "all").across == "scope = all"
    assert frame(backend, above_average, "unit").across == ""
    assert frame(backend, lambda t: t.distinct(), "unit").across == ""
    assert frame(backend, lambda t: t, "all").across == "scope = all"
    assert frame(backend, lambda t: t.distinct(), "all").across == "dropDuplicates"


def test_several_inputs_have_views_of_their_names(backend: SparkBackend) -> None:
    other = TableSchema(table="t", columns=pa.schema([("k", pa.string()), ("title", pa.string())]))
    joined = sql(backend, "SELECT t.id, u.title FROM t JOIN u ON t.k = u.k", t=T, u=other)
    assert (joined.across, joined.schema.columns.names) == ("JOIN", ["id", "title"])
    with pytest.raises(TransformError, match="does not read its input 'u': remove it"):
        sql(backend, "SELECT k FROM t", t=T, u=other)
    assert frame(backend, lambda t, u: t.join(u, "k"), t=T, u=other).across == "JOIN"


def test_a_view_does_not_outlive_its_query(backend: SparkBackend) -> None:
    """A query that mistook a name found the rows of another transform's work unit under it."""
    sql(backend, "SELECT id FROM left_over", left_over=evolve(T, table="left_over"))
    with pytest.raises(TransformError, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql(backend, "SELECT t.id FROM t JOIN left_over USING (id)")
