"""``HdfsFile``: files of HDFS, over WebHDFS."""
