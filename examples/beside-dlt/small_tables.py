import os

import dlt
from dlt.sources.sql_database import sql_database

dlt.config["extract.next_item_mode"] = "fifo"  # all tables at once would have a connection each
tables = sql_database(os.environ["SHOP"], backend="pyarrow")
target = dlt.destinations.duckdb(os.environ["OUTPUT"])
pipeline = dlt.pipeline("small_tables", destination=target, dataset_name="shop")
pipeline.run(tables, write_disposition="replace", loader_file_format="parquet")
