"""Child tables of rows with lists, as sinks keep them: those of a row that is merged again are replaced."""
