"""Terminal output: tables that are updated in place, colours and the cursor."""
