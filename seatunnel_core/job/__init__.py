"""What is stored of a job besides checkpoints, and its graph: manifest, pipelines, bindings of sinks, savepoints."""
