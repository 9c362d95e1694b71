"""Functions of the dialect, grouped by category. ``catalog`` imports all of them."""
