"""Places where files are: local disks, HDFS, object stores, servers behind fsspec, all behind one interface.

What is in the files is known to ``connectors.file.formats``; when a staged one is published, to ``connectors.staging``.
"""
