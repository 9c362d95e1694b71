"""A source that makes its rows up."""
