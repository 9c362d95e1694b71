"""Materializes an asset of a job through Dagster's API, in one process, with an instance that keeps what was done."""

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import dagster as dg
from seatunnel_dagster.asset import seatunnel_asset
from seatunnel_dagster.resource import SeaTunnelCluster

RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Dagster prints goes into the log


def played(asked: dict[str, Any], instance: dg.DagsterInstance) -> dict[str, Any]:
    if "definitions" in asked:
        definitions = runpy.run_path(asked["definitions"])["defs"]
    elif "component" in asked:
        sys.path.insert(0, asked["component"])
        made = dg.load_from_defs_folder(path_within_project=Path(asked["component"]))
        definitions = dg.Definitions.merge(made, dg.Definitions(resources={"seatunnel": cluster_of(asked)}))
    else:
        definitions = dg.Definitions(assets=[asset_of(asked)], resources={"seatunnel": cluster_of(asked)})
    result = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        raise_on_error=False,
        partition_key=asked.get("partition"),
        tags={"dagster/root_run_id": asked["run"]} if asked["run"] else {},
    )
    events = result.get_asset_materialization_events()
    metadata = {key: value.value for each in events for key, value in each.materialization.metadata.items()}
    return {"success": result.success, "metadata": metadata, "run": result.run_id}


def asset_of(asked: dict[str, Any]) -> dg.AssetsDefinition:
    return seatunnel_asset(
        asked["asset"],
        job=asked["job"],
        group_name="tests",
        timeout_s=asked.get("timeout_s"),
        variables=asked.get("variables"),
        retry_policy=dg.RetryPolicy(max_retries=asked.get("retries", 0)),
        partitions_def=dg.StaticPartitionsDefinition(asked["partitions"]) if "partitions" in asked else None,
    )


def cluster_of(asked: dict[str, Any]) -> SeaTunnelCluster:
    password = os.environ["SEATUNNEL_PASSWORD"]
    return SeaTunnelCluster(nodes=asked["nodes"], user="admin", password=password, poll_interval_s=0.2)


def main() -> None:
    with dg.instance_for_test() as instance:
        for line in sys.stdin:
            try:
                result = played(json.loads(line), instance)
            except Exception:
                traceback.print_exc()
                result = {"success": False, "metadata": {}}
            RESULTS.write(json.dumps(result) + "\n")
            RESULTS.flush()


if __name__ == "__main__":
    main()
