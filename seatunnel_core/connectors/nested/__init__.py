"""Child tables in sinks, for rows with lists. When a row is merged again, its children are replaced."""
