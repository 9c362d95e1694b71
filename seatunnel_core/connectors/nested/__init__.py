"""Child tables of rows with lists in sinks: the children of a row that is merged again are replaced."""
