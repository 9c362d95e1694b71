"""A job's graph and its stored state except checkpoints: manifest, pipelines, sink bindings, savepoints."""
