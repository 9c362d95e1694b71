"""S3, OSS and HDFS clients with Hadoop's setting names, and JDBC URL parsing, for connectors and storages.

Configurations are mappings of strings. Errors are those of ``seatunnel_storage_api.errors``. Each package imports the
client library of its service.
"""
