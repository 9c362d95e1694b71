"""File systems behind one interface: local disks, HDFS, object stores and the servers that fsspec has clients for.

``connectors.file.formats`` handles the content of files; ``connectors.staging`` decides when a staged file is
published.
"""
