"""Helper processes of an agent for requests that take a long time, load plugins or read large amounts of data."""
