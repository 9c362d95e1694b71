"""Rows in Arrow: schemas, types, row kinds, and values that do not fit their type."""
