"""The functions of the dialect, by kind. ``catalog`` imports them all."""
