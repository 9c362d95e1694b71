"""Decisions of the coordinator that depend on their arguments only.

They determine when to checkpoint, when to restart, from which base to continue, which stored state belongs to which
vertex, and which output a rewind rolls back.
"""
