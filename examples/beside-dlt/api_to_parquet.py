import os

import dlt
from dlt.sources.helpers import requests

dlt.config["extract.workers"] = 8


@dlt.resource
def pages():
    yield from range(1, 201)


@dlt.transformer(data_from=pages, parallelized=True)
def people(page):
    return requests.get(os.environ["SERVICE"], params={"page": page}).json()["data"]


target = dlt.destinations.filesystem(os.environ["OUTPUT"])
pipeline = dlt.pipeline("api_to_parquet", destination=target, dataset_name="shop")
pipeline.run(people, loader_file_format="parquet")
