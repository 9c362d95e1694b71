import os

import dlt
from dlt.sources.filesystem import filesystem, read_parquet

dlt.config["destination.replace_strategy"] = "insert-from-staging"
files = filesystem(os.environ["INPUT"], file_glob="*.parquet")
customers = (files | read_parquet(chunksize=100_000, use_pyarrow=True)).with_name("customers")
target = dlt.destinations.duckdb(os.environ["OUTPUT"])
pipeline = dlt.pipeline("replace", destination=target, dataset_name="shop")
pipeline.run(customers, write_disposition="replace", loader_file_format="parquet")
