import os

import dlt
from dlt.sources.filesystem import filesystem, read_jsonl

files = filesystem(os.environ["INPUT"], file_glob="*.json")
orders = (files | read_jsonl()).with_name("orders")
target = dlt.destinations.postgres(os.environ["SHOP"])
pipeline = dlt.pipeline("nested_json_to_postgres", destination=target, dataset_name="shop")
pipeline.run(orders, loader_file_format="csv")
