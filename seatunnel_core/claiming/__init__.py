"""Ownership of jobs and the checkpoints they continue from: claims, restores, savepoints of other jobs, job ids.

Running the job is the work of ``runtime``.
"""
