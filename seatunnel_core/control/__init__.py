"""Requests to running jobs of the same user on this machine, and clients for clusters."""
