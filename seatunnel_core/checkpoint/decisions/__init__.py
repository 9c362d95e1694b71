"""Decisions of the coordinator as pure functions: checkpoints, restarts, restored state, rollbacks."""
