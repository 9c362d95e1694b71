"""Rows as Arrow has them: schemas, types, kinds of rows, and values that a type cannot hold."""
