"""HTTP endpoints of a node: REST for users, in SeaTunnel's format, and internal ones for nodes and clients.

To add endpoints, create a file with ``ROUTES`` and list it in ``application``.
"""
