"""Whole jobs of change data capture: storms of writers, killed processes, targets compared with sources."""
