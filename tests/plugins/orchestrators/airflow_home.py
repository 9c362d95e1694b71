"""Airflow for tests: its home with the Dags, its connection to the cluster, and runs that no test had before."""

import itertools
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from seatunnel_core.control.cluster_jobs import stable_job_id
from tests.plugins.orchestrators.conftest import Rest
from tests.plugins.orchestrators.jobs import shown
from tests.plugins.orchestrators.player import HERE

MOMENTS = (datetime(2026, 1, 31, tzinfo=UTC) + timedelta(days=day) for day in itertools.count())


def airflow_in(folder: Path, rest: Rest) -> dict[str, str]:
    """Make a home for Airflow with the Dags of the tests and of the page, and return its variables."""
    shutil.copytree(HERE / "dags", folder / "dags")
    (folder / "dags/orders.py").write_text(shown("orders.py"))
    (folder / "dags/orders.conf").write_text(shown("orders.conf").replace("/data", str(folder)))
    connection = {
        "conn_type": "seatunnel",
        "host": ",".join(rest.addresses),
        "login": "admin",
        "password": rest.password,
        "extra": {"https": True, "ca_file": str(rest.ca_file)},
    }
    return {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SEATUNNEL_DEFAULT": json.dumps(connection),
    }


def run_of(dag: str) -> tuple[dict[str, Any], str]:
    """Return what a player is asked for a new run, and the id of its job."""
    moment = next(MOMENTS).isoformat()
    return {"dag": dag, "when": moment}, stable_job_id("airflow", dag, "rows", f"manual__{moment}")
