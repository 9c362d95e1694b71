"""Addresses of databases in JDBC URLs, and TLS by the properties of JDBC drivers. It imports no driver."""
