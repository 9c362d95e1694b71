"""Terminal output: a table updated in place, colours and the cursor."""
