"""File systems behind one interface: local disks, HDFS, object stores, and servers with an fsspec client.

``connectors.file.formats`` handles the content of files; ``connectors.staging`` publishes staged files.
"""
