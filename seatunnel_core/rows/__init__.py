"""Rows in Arrow: schemas, types, row kinds, and values that do not match their type."""
