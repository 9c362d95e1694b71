"""What users and programs learn about a job: counters, notices, metrics and reports.

Nothing here decides anything.
"""
