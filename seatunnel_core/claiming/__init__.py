"""Ownership of jobs, and the checkpoints that they restore. ``runtime`` runs the jobs."""
