"""Database addresses in JDBC URLs, and TLS settings in JDBC properties, without importing a driver."""
