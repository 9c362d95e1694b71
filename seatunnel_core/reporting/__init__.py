"""What people and machines are told about a job: counters, notices, metrics and reports.

Nothing here decides anything.
"""
