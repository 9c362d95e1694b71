"""Functions of the dialect by category. ``catalog`` imports all of them."""
