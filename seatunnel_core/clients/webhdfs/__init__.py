"""Access to HDFS over WebHDFS with the package ``hdfs``."""
