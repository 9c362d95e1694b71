"""Graph of a job, and its stored state except checkpoints: manifest, pipelines, sink bindings, savepoints."""
