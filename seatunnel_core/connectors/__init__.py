"""The connectors, and the interfaces of source and sink plugins (``source.py``, ``sink.py``)."""
