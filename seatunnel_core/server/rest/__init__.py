"""HTTP of a node: what users ask, in SeaTunnel's shapes, and what nodes and clients of the cluster say.

A new part is a file with ``ROUTES``, named in ``application``.
"""
