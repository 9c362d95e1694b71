"""Clients for S3, OSS and HDFS with Hadoop's setting names, and JDBC URLs, for connectors and checkpoint storages.

Configurations are mappings of strings. Errors are those of ``seatunnel_storage_api.errors``. Each package imports the
client library of its service.
"""
