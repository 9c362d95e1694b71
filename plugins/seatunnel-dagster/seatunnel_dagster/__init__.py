"""Jobs of a cluster as assets of Dagster: a resource, a function that makes an asset of a job, and a component."""
