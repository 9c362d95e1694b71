"""Databases: the source and the sink ``Jdbc``, without jars."""
