"""Child tables for lists in rows. When a row is merged again, its child rows are replaced."""
