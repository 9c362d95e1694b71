"""Vertices of a pipeline (source, task and sink), their messages, and their shared code."""
