"""Scheduling: decisions of the leader as pure functions of records and of reports from the members.

A job waits (its record has no worker process), is placed (recorded before the order is sent), is followed while it
runs, and then moves to the history, or waits again if its worker process ended. A change of a record and the order that
follows from it are never decided in the same step. So a lost order is repeated, also by the next leader.
"""
