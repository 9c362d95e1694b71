"""Lookup of installed plugins by name, and their descriptions."""
