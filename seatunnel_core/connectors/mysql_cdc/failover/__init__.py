"""Continuation of a job at another server, by the GTIDs of the transactions that it has read."""
