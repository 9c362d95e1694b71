"""The checkpoint storage of type ``hdfs``."""
