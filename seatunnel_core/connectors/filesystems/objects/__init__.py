"""What stores of objects have in common: no folders, no rename, and a write that happens whole or not at all."""
