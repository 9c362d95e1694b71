import os

import dlt
from dlt.sources.sql_database import sql_table

rows = sql_table(os.environ["SHOP"], table="lineitem", backend="pyarrow", chunk_size=100_000)
target = dlt.destinations.filesystem(os.environ["OUTPUT"])
pipeline = dlt.pipeline("postgres_to_parquet", destination=target, dataset_name="shop")
pipeline.run(rows, loader_file_format="parquet")
