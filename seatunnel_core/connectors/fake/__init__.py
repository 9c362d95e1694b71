"""A source that generates rows."""
