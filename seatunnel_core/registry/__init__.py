"""Finding the plugins that are installed, by name, and describing them. Using them is the work of ``planning``."""
