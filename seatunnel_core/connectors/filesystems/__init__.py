"""File systems behind one interface: local disks, HDFS, object stores, and servers with an fsspec client."""
