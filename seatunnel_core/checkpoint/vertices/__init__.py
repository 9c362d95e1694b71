"""The vertices of a pipeline (source, task and sink), the messages between them, and what they share.

Scheduling checkpoints is the coordinator's work.
"""
