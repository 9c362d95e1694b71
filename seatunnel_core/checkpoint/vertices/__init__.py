"""Vertices of a pipeline (sources, tasks and sinks) and the messages between them."""
