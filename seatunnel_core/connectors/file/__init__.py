"""Files as a source and as a sink. Only ``filesystem.py`` knows that they are local."""
