"""Requests to a job in another process of the same user on the same machine."""
