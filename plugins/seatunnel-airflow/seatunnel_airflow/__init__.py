"""Jobs of a cluster as tasks of Apache Airflow: a hook, an operator, and the trigger that waits for it."""
