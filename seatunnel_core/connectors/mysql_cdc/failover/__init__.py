"""Failover of a job to another server, based on the GTIDs of the transactions that the job has read."""
