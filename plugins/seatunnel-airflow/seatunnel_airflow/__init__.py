"""Run cluster jobs as Apache Airflow tasks: a hook, an operator, and a trigger that waits for the end of a job."""
