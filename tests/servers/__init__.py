"""Real servers for the tests: built once into the user's cache, started on loopback, killed by process id.

Each kind of server is a module with ``build()``, which makes what is missing in the cache (safe to call twice at once),
and a class that starts it. A server that cannot be had fails the tests where ``SEATUNNEL_SERVERS=required`` is set, as
it is in CI, and skips them by name elsewhere; it is never replaced in silence.
"""
