"""Runs Dags of the folder ``dags`` as ``Dag.test`` does, in one process, with a real database and real templates."""

import json
import os
import sys
from datetime import datetime
from importlib import import_module
from typing import Any

RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Airflow prints goes into the log


def played(asked: dict[str, Any]) -> dict[str, Any]:
    module = import_module(asked.get("module", "copying"))  # from Airflow's folder of Dags
    (dag,) = (each for each in vars(module).values() if getattr(each, "dag_id", "") == asked["dag"] and each.task_ids)
    moment = datetime.fromisoformat(asked["when"])
    run = dag.test(run_after=moment, logical_date=moment, run_conf=asked.get("conf"))
    (task,) = run.get_task_instances()
    return {"state": str(task.state), "tries": task.try_number, "figures": task.xcom_pull(task_ids=task.task_id)}


def main() -> None:
    from airflow.utils import db

    db.initdb()
    sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    for line in sys.stdin:
        RESULTS.write(json.dumps(played(json.loads(line))) + "\n")
        RESULTS.flush()


if __name__ == "__main__":
    main()
