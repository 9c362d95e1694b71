import os

import dlt
from dlt.sources.filesystem import filesystem, read_csv_duckdb

files = filesystem(os.environ["INPUT"], file_glob="*.csv")
rows = (files | read_csv_duckdb(chunk_size=100_000, use_pyarrow=True)).with_name("lineitem")
target = dlt.destinations.postgres(os.environ["SHOP"])
pipeline = dlt.pipeline("kill_in_the_middle", destination=target, dataset_name="shop")
pipeline.run(rows, loader_file_format="csv")
