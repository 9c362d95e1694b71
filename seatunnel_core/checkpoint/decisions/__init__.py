"""Decisions of the coordinator that depend on their arguments alone.

When to checkpoint, when to restart, from which base to continue, which stored state belongs to which vertex, and what a
rewind takes back.
"""
