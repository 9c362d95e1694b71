import os

import dlt
from dlt.sources.sql_database import sql_table

events = sql_table(
    os.environ["SHOP"],
    table="events",
    backend="pyarrow",
    chunk_size=100_000,
    incremental=dlt.sources.incremental("created"),
)
target = dlt.destinations.duckdb(os.environ["OUTPUT"])
pipeline = dlt.pipeline("nightly_increment", destination=target, dataset_name="shop")
pipeline.run(events, loader_file_format="parquet")
