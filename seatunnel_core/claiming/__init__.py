"""Ownership of jobs and the checkpoints they continue from: claims, restores, savepoints of other jobs, job IDs.

``runtime`` runs the job.
"""
