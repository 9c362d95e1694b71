"""Dags that have one job run, which the run names."""

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG
from seatunnel_airflow.operator import SeaTunnelOperator

JOB = "{{ dag_run.conf['job'] }}"


def dag_of(name: str, **more: Any) -> DAG:
    with DAG(name, schedule=None) as dag:
        SeaTunnelOperator(task_id="rows", **{"job": JOB, "poll_interval_s": 0.2, **more})
    return dag


copy = dag_of("copy", deferrable=False)
copy_to = dag_of("copy_to", deferrable=False, variables={"target": "{{ dag_run.conf['target'] }}", "rows": "3"})
copy_deferred = dag_of("copy_deferred", deferrable=True)
copy_twice = dag_of("copy_twice", deferrable=False, retries=1, retry_delay=timedelta(0))
copy_briefly = dag_of("copy_briefly", deferrable=False, execution_timeout=timedelta(seconds=8))
copy_briefly_deferred = dag_of("copy_briefly_deferred", deferrable=True, execution_timeout=timedelta(seconds=8))
