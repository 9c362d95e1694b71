"""``seatunnel --check``: prints the plan of a job. Does not import modules that only running jobs need."""

import os

from seatunnel_core.cli.arguments import RunArguments
from seatunnel_core.cli.job_files import read_job, warnings_first
from seatunnel_core.planning.check import check_report, spark_to_ask
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import cache_folder


def check(arguments: RunArguments) -> int:
    """Print the plan without moving rows, and return the exit code."""
    request = read_job(arguments)
    java = find_java(os.environ, cache_folder(os.environ))
    with warnings_first(request):
        job = plan_job(request.raw, lookup, request.engine, name=arguments.name, master=arguments.master, look=True)
        with spark_to_ask(job, master=arguments.master) as spark:
            report = check_report(job, request.engine, master=arguments.master, spark=spark, verbose=arguments.verbose)
    print(report)
    print(f"Java {java.version}: {java.home}")
    return 0
