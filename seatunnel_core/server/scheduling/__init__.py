"""Scheduling: decisions of the leader, as pure functions of job records and member reports.

A job waits (its record has no worker process), is placed (recorded before the order is sent), is followed while it
runs, and then moves to the history, or waits again if its worker process ended. A change of a record and the order that
follows from it are never decided in the same step, so a lost order is sent again, even by the next leader.
"""
