"""Jobs that copy tables without a key."""
