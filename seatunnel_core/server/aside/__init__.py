"""Helper processes of an agent for requests that take long, load plugins or read large amounts of data."""
