"""The file connectors: a source and a sink for each place, with the options that they share."""
