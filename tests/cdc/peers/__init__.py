"""Other programs that capture changes, measured beside ours on the same database."""
