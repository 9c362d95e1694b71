"""HDFS over WebHDFS, by the package hdfs."""
