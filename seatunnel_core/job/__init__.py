"""Graph of a job, and its stored data apart from checkpoints: manifest, pipelines, sink bindings and savepoints."""
