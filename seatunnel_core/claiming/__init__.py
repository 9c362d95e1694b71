"""Ownership of jobs, and the checkpoints from which they continue. ``runtime`` runs the jobs."""
