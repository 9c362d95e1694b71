import os

import dlt
from dlt.sources.filesystem import filesystem, read_jsonl

files = filesystem(os.environ["INPUT"], file_glob="*.json")
people = (files | read_jsonl()).with_name("people")
target = dlt.destinations.duckdb(os.environ["OUTPUT"])
pipeline = dlt.pipeline("schema_growth", destination=target, dataset_name="shop")
pipeline.run(people, loader_file_format="parquet")
