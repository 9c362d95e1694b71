"""Database addresses in JDBC URLs, and TLS settings in JDBC properties. It imports no driver."""
