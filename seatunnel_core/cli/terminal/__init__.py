"""What only a terminal has: a table that is redrawn in place, colours and a cursor."""
