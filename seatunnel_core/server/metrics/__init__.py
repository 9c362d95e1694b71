"""Metrics of a node, in Prometheus formats."""
