"""Writes the table in ``docs/reference/rest.md`` from the routes: ``python -m tests.server.rest.rest_page``."""

import re
from pathlib import Path

from seatunnel_core.server.rest.application import USER_ROUTES
from seatunnel_core.server.rest.route import Route

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"
START, END = "<!-- endpoints -->\n", "<!-- /endpoints -->"

SHOWN_BY = {
    "/overview": "test_an_accepted_job_is_durable_and_shown_in_the_shapes_of_seatunnel",
    "/update-tags": "test_what_seatunnel_answered_is_answered_here",
    "/system-monitoring-information": "test_each_node_says_what_it_measures_and_one_that_hangs_is_marked",
    "/running-jobs": "test_running_jobs_come_in_pages_and_as_a_summary",
    "/running-jobs/summary": "test_running_jobs_come_in_pages_and_as_a_summary",
    "/pending-jobs": "test_a_job_that_waits_is_listed_with_the_slots_that_it_wants",
    "/job-info/{job_id}": "test_an_ended_job_is_shown_with_its_graph_and_its_pipelines",
    "/running-job/{job_id}": "test_what_seatunnel_answered_is_answered_here",
    "/finished-jobs": "test_finished_jobs_come_in_pages",
    "/finished-jobs/": "test_finished_jobs_come_in_pages",
    "/finished-jobs/{state}": "test_finished_jobs_come_in_pages",
    "/jobs/metrics/{job_id}": "test_metrics_over_time_come_from_the_host_and_after_the_end_from_the_history",
    "/jobs/text/{job_id}": "test_a_running_job_shows_where_it_runs_since_when",
    "/jobs/plan/{job_id}": "test_metrics_over_time_come_from_the_host_and_after_the_end_from_the_history",
    "/nodes/{address}": "test_a_node_is_shown_with_its_configuration_and_without_its_secrets",
    "/resource/workers": "test_a_job_that_waits_is_listed_with_the_slots_that_it_wants",
    "/submit-job": "test_an_accepted_job_is_durable_and_shown_in_the_shapes_of_seatunnel",
    "/submit-job/upload": "test_a_job_is_submitted_as_a_file",
    "/submit-jobs": "test_several_jobs_are_submitted_and_stopped_at_once",
    "/stop-job": "test_what_is_wanted_of_a_job_is_not_guessed",
    "/stop-jobs": "test_several_jobs_are_submitted_and_stopped_at_once",
    "/encrypt-config": "test_a_job_is_encrypted_as_the_command_does_it",
    "/jobs/checkpoints/{job_id}": "test_stored_checkpoints_are_listed",
    "/jobs/checkpoints/history/{job_id}": "test_stored_checkpoints_are_listed",
    "/savepoint": "test_a_savepoint_is_taken_of_a_job_that_goes_on",
    "/reread-table": "test_a_table_is_read_again_through_any_node",
    "/check": "test_a_check_tells_the_plan_and_each_problem_with_its_line",
    "/jobs/checkpoints/verify/{job_id}": "test_stored_checkpoints_are_verified_and_compared",
    "/jobs/checkpoints/compare/{job_id}": "test_stored_checkpoints_are_verified_and_compared",
    "/option-rules": "test_the_options_of_a_plugin_are_listed",
    "/thread-dump": "test_the_threads_of_a_node_are_listed",
    "/running-threads": "test_the_threads_of_a_node_are_listed",
    "/logs": "test_the_list_has_the_shape_of_seatunnel",
    "/logs/{name}": "test_files_of_other_nodes_are_read_through_this_one",
    "/log": "test_the_list_has_the_shape_of_seatunnel",
    "/log/{name}": "test_a_large_file_is_sent_in_pieces_and_a_range_of_it_has_one",
    "/get-all-log-name": "test_the_list_has_the_shape_of_seatunnel",
    "/loggers": "test_all_nodes_are_asked_and_one_that_is_away_is_told",
    "/loggers/{name}": "test_a_level_is_changed_and_reset",
    "/metrics": "test_both_formats_have_what_seatunnel_calls_its_metrics",
    "/openmetrics": "test_both_formats_have_what_seatunnel_calls_its_metrics",
    "/permissions": "test_a_user_may_do_what_he_is_allowed",
    "/openapi.json": "test_the_interface_is_described",
}
"""By path: the test that shows it."""


_IN_PATH = {"job_id": "ID", "state": "STATE", "name": "NAME", "address": "ADDRESS"}


def table() -> str:
    """Return the endpoints as a table."""
    rows = [_row(route) for route in USER_ROUTES if route.summary]
    head = ["| request | what | parameters | shown by |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _row(route: Route) -> str:
    parameters = ", ".join(f"`{each.name}`" for each in route.parameters)
    where = "" if route.to_leader else " Served by the requested node."
    shown = SHOWN_BY.get(route.path, "")
    path = re.sub(r"{(\w+)}", lambda named: _IN_PATH[named[1]], route.path)
    return f"| `{route.method} {path}` | {route.summary}{where} | {parameters} | {f'`{shown}`' if shown else ''} |"


def page(written: str) -> str:
    """Return the page with its table made anew."""
    before, _, rest = written.partition(START)
    return before + START + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), encoding="utf-8")
