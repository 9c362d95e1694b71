"""Run cluster jobs as Dagster assets: a resource, a function that creates an asset from a job, and a component."""
