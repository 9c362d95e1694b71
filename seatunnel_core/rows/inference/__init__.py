"""Schema inference: kinds of values, types that represent them, and rows that do not match."""
