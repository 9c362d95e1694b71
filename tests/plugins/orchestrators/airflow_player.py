"""Runs Dags of the folder ``dags`` as ``Dag.test`` does, in one process, with a real database and real templates.

It runs triggers itself, or leaves them to a process of the triggerer, as the scheduler does.
"""

import asyncio
import json
import os
import sys
from datetime import datetime
from importlib import import_module
from typing import Any

RESULTS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what Airflow prints goes into the log
RUN_TASK = import_module("airflow.sdk.definitions.dag")._run_task


def import_string(name: str) -> Any:
    module, _, member = name.rpartition(".")
    return getattr(import_module(module), member)


def played(asked: dict[str, Any]) -> dict[str, Any]:
    module = import_module(asked.get("module", "copying"))  # from Airflow's folder of Dags
    (dag,) = (each for each in vars(module).values() if getattr(each, "dag_id", "") == asked["dag"] and each.task_ids)
    leave_triggers(leave=asked.get("triggerer", False))
    moment = datetime.fromisoformat(asked["when"])
    run = dag.test(run_after=moment, logical_date=moment, run_conf=asked.get("conf"))
    (task,) = run.get_task_instances()
    return {"state": str(task.state), "tries": task.try_number, "figures": task.xcom_pull(task_ids=task.task_id)}


def leave_triggers(*, leave: bool) -> None:
    """Have ``Dag.test`` leave triggers to a triggerer, and take up a task when that has fired, or not."""
    sdk_dag = import_module("airflow.sdk.definitions.dag")

    def run_task(*, ti: Any, task: Any, run_triggerer: bool = False) -> Any:
        return RUN_TASK(ti=ti, task=task, run_triggerer=run_triggerer and not leave)

    sdk_dag._run_task = run_task  # type: ignore[attr-defined]


def killed(job_id: str) -> dict[str, Any]:
    """Do what the triggerer does when somebody marks or clears a task whose trigger it runs."""
    trigger_of = import_module("seatunnel_airflow.trigger").SeaTunnelJobTrigger
    first = trigger_of(seatunnel_conn_id="seatunnel_default", job_id=job_id, poll_interval_s=0.2, patience_s=60.0)
    name, arguments = first.serialize()
    assert name == f"{trigger_of.__module__}.{trigger_of.__name__}"
    asyncio.run(trigger_of(**json.loads(json.dumps(arguments))).on_kill())
    return {}


def connection() -> dict[str, Any]:
    """Do what Airflow's page of connections does: find the type, and try it."""
    found = import_module("airflow.providers_manager").ProvidersManager().hooks["seatunnel"]
    hook = import_string(found.hook_class_name)(**{found.connection_id_attribute_name: "seatunnel_default"})
    answers, said = hook.test_connection()
    return {"name": found.hook_name, "answers": answers, "said": said}


def main() -> None:
    from airflow.utils import db

    db.initdb()
    sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("connection"):
            result = connection()
        else:
            result = killed(asked["killed"]) if "killed" in asked else played(asked)
        RESULTS.write(json.dumps(result) + "\n")
        RESULTS.flush()


if __name__ == "__main__":
    main()
