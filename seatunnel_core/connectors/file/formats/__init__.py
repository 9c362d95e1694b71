"""File formats: a module or folder for each, with a reader for the source and a writer for the sink."""
