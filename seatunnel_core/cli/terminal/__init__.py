"""Terminal output: a table that is redrawn in place, colours and the cursor."""
