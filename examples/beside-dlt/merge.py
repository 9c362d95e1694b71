import os

import dlt
from dlt.sources.filesystem import filesystem, read_parquet

files = filesystem(os.environ["INPUT"], file_glob="*.parquet")
customers = (files | read_parquet(chunksize=100_000, use_pyarrow=True)).with_name("customers")
customers.apply_hints(primary_key="id", write_disposition={"disposition": "merge", "strategy": "upsert"})
target = dlt.destinations.postgres(os.environ["SHOP"])
pipeline = dlt.pipeline("merge", destination=target, dataset_name="shop")
pipeline.run(customers, loader_file_format="csv")
