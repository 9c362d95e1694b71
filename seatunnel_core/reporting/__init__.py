"""Counters, notices, metrics and reports of a job, for users and programs."""
